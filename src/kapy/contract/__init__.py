"""What core may read from provider objects, and nothing else."""
