package main

func markdown(Report) (string, error) { return "", nil }
