"""What the model can do: each tool with its title, its places, what it shows and what it needs the user's leave for."""
