# Certificates as people have them; each line makes files of the names that it begins with.
key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out $1.key; }
request() { key $1; openssl req -new -key $1.key -subj /CN=$2 -out $1.csr; }
sign() { echo "$3" > ext; openssl x509 -req -in $1.csr -CA $2.crt -CAkey $2.key -CAcreateserial -days 30 -extfile ext -out $1.crt; }
key root; openssl req -x509 -key root.key -subj /CN=root -days 30 -out root.crt
key stranger; openssl req -x509 -key stranger.key -subj /CN=stranger -days 30 -out stranger.crt
request good other; sign good root subjectAltName=DNS:localhost,IP:127.0.0.1
request elsewhere elsewhere; sign elsewhere root subjectAltName=DNS:elsewhere
request named localhost; sign named root basicConstraints=CA:FALSE
request manual localhost; openssl x509 -req -in manual.csr -CA root.crt -CAkey root.key -CAcreateserial -days 30 -out manual.crt
key selfmade; openssl req -x509 -key selfmade.key -subj /CN=localhost -days 30 -out selfmade.crt
request version1 localhost; openssl x509 -req -in version1.csr -signkey version1.key -days 30 -out version1.crt
request between between; sign between root basicConstraints=critical,CA:TRUE
request chained localhost; sign chained between subjectAltName=DNS:localhost; cat between.crt >> chained.crt
mkdir ca; : > ca/index; echo 01 > ca/serial
printf '[ca]\ndefault_ca=d\n[d]\nnew_certs_dir=ca\ndatabase=ca/index\nserial=ca/serial\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n' > ca/conf
request expired localhost; echo subjectAltName=DNS:localhost > ext
openssl ca -batch -config ca/conf -cert root.crt -keyfile root.key -in expired.csr -extfile ext -startdate 200101000000Z -enddate 210101000000Z -notext -out expired.crt
request client trunkline; sign client root basicConstraints=CA:FALSE
request intruder trunkline; sign intruder stranger basicConstraints=CA:FALSE
openssl pkey -in client.key -aes128 -passout pass:word -out locked.key
chmod 600 *.key; cp client.key open.key; chmod 644 open.key
