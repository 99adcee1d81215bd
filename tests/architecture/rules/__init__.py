"""What may stand in this tree: each rule takes the root of a tree and returns its problems as sentences."""
