"""`clsim demo`: the story of the project, told in under a minute on whatever devices there are."""
