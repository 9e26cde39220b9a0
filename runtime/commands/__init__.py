"""What the commands of `clrt` do; `runtime.cli` says how they are called."""
