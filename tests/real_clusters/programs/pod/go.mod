module kapy.test/pod

go 1.26.0
