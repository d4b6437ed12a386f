"""Where settings come from: defaults, the user's file, the workspace's file, the environment, arguments."""
