"""Decoding of JSON and protobuf, with the error messages of Go's decoders."""
