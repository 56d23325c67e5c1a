module kapy.test/pause

go 1.26.0
