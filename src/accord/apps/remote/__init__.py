"""Programs for agents over the network: `accord token`."""
