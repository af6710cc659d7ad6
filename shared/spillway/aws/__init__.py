"""AWS: the only package that imports boto3."""
