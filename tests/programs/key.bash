# Sign with a key of one's own making and verify.
openssl genpkey -algorithm ed25519 -out key 2>/dev/null; openssl pkey -in key -pubout -out public
openssl pkeyutl -sign -rawin -inkey key -in left.txt -out signature; openssl pkeyutl -verify -rawin -pubin -inkey public -in left.txt -sigfile signature
openssl pkeyutl -verify -rawin -pubin -inkey public -in in.txt -sigfile signature; echo "status $?"; rm key public signature
openssl prime 18446744073709551557; openssl dgst -sha3-256 -hmac key in.txt
