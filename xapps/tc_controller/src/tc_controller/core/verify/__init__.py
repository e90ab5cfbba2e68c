"""What bearers get, against what they are promised."""
