"""Language models as one kind of thing: a history goes in, events stream out."""
