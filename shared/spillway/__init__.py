"""Spillway keeps Kubernetes clusters on EC2 Auto Scaling groups as big as their pods need."""
