import AlbumTestSupport
import Foundation
import Testing

/// `albumfs copy` takes a store into an object storage and back: whole, continuing after an interruption, never over
/// anything else, and without showing the credentials to anybody.
@Suite(.serialized, .timeLimit(.minutes(30))) struct CopyTests {
  /// Variables of scripts: `$B` a bucket; `s3` runs albumfs with the credentials of its server.
  private static func prelude(_ bucket: String, _ authority: String) -> String {
    """
    B=\(bucket)
    s3() {
      AWS_ACCESS_KEY_ID=\(ObjectServer.accessKey) AWS_SECRET_ACCESS_KEY=\(ObjectServer.secretKey) \\
        AWS_ENDPOINT_URL=http://\(authority) albumfs "$@"
    }
    # refused CODE WORDS COMMAND…: the command exits with that code, and says these words.
    refused() {
      local code=0 wanted=$1 words=$2
      shift 2
      "$@" > $W/out 2>&1 || code=$?
      if [ $code != $wanted ] || ! grep -q -- "$words" $W/out; then
        echo "exit $code: $(cat $W/out)" >&2
        return 1
      fi
    }

    """
  }

  private func withBucket(
    delays: String = "watch=0.3", network: FaultyNetwork? = nil, initOptions: [String] = [],
    mounts: Bool = false,
    _ script: String
  ) throws {
    let server = try ObjectServer.shared()
    let prelude = Self.prelude(try server.makeBucket(), network?.authority ?? server.authority)
    let mounted = try MountedStore(initOptions: initOptions)
    defer { mounted.abandon() }
    mounted.delays = delays
    if mounts { try mounted.mount() }
    try mounted.sh(prelude + script)
  }

  @Test func aStoreGoesToABucketAndBackWhileItIsMounted() throws {
    try withBucket(
      mounts: true,
      """
      mkdir $M/Trip; head -c 3000000 /dev/urandom > $M/Trip/Photo/a.bin; sync $M/Trip/Photo/a.bin
      s3 copy $S s3://$B/our/album 2> $W/said
      grep -q '^Copied [0-9]* files' $W/said
      s3 copy -q s3://$B/our/album $W/back
      albumfs check -q --password-file $P $W/back
      albumfs mount -q --read-only --password-file $P $W/back $W/../mnt2
      cmp $M/Trip/Photo/a.bin $W/../mnt2/Trip/Photo/a.bin
      albumfs umount -q $W/../mnt2
      # Again, with a change, over the same bucket and over the same directory.
      echo more > $M/Trip/Photo/b.bin; sync $M/Trip/Photo/b.bin
      refused 7 'use --update' s3 copy $S s3://$B/our/album
      s3 copy -q --update --verify $S s3://$B/our/album
      s3 copy -q --update s3://$B/our/album $W/back
      albumfs mount -q --read-only --password-file $P $W/back $W/../mnt2
      grep -q more $W/../mnt2/Trip/Photo/b.bin
      refused 40 'is mounted' s3 copy --update s3://$B/our/album $S
      albumfs umount -q $W/../mnt2
      """)
  }

  /// A store at rest and its copies are equal, to the times of the files.
  @Test func aCopyOfACopyIsTheStore() throws {
    try withBucket(
      initOptions: ["--chaff", "20M"],
      """
      s3 copy -q $S s3://$B
      s3 copy -q s3://$B s3://$B-is-not-there 2> $W/said && exit 1
      s3 copy --json s3://$B $W/back > $W/json
      python3 -c 'import json,sys; r = json.load(open(sys.argv[1])); assert r["copied"] == r["readBack"] > 20, r' $W/json
      albumfs copy -q $W/back $W/again
      list() { cd $1 && find . -printf '%p %y %m %s %t\\n' | sort && find . -type f | sort | xargs sha256sum; }
      (list $S) > $W/one; (list $W/again) > $W/two
      cmp $W/one $W/two
      """)
  }

  /// Ctrl-C in the middle: what is there is no store, the command says so, and the next one completes it. While it
  /// runs, no argument and no variable of the program that speaks to the server has a secret.
  @Test func anInterruptedCopyContinues() throws {
    let network = try FaultyNetwork(to: ObjectServer.shared())
    try network.expect([String](repeating: "PUT pass", count: 20) + ["PUT hold", "PUT hold"])
    try withBucket(
      network: network, initOptions: ["--chaff", "40M"],
      """
      AWS_ACCESS_KEY_ID=\(ObjectServer.accessKey) AWS_SECRET_ACCESS_KEY=\(ObjectServer.secretKey) \\
        AWS_ENDPOINT_URL=http://\(network.authority) albumfs copy -v --connections 2 $S s3://$B/a > $W/out 2>&1 &
      pid=$!
      await "pgrep -P $pid albumfs-remote > /dev/null"
      for helper in $pid $(pgrep -P $pid); do
        if grep -q \(ObjectServer.secretKey) /proc/$helper/cmdline; then exit 1; fi
      done
      # Both connections hang in the middle of a file.
      await "[ \\$(wc -l < \(network.held)) = 2 ]"
      # It has given up what it does not need before it asked the server.
      for helper in $(pgrep -P $pid); do
        grep -q '^Seccomp:.*2$' /proc/$helper/status; grep -q '^NoNewPrivs:.*1$' /proc/$helper/status
        grep -q '^CapEff:.*0000000000000000$' /proc/$helper/status
        grep -q '^Uid:.*65534' /proc/$helper/status || [ "$(id -u)" != 0 ]
        if grep -q \(ObjectServer.secretKey) /proc/$helper/environ; then exit 1; fi
      done
      kill -TERM $pid
      code=0; wait $pid || code=$?
      [ $code = 15 ]
      grep -q 'continues where it was' $W/out
      if grep -q \(ObjectServer.secretKey) $W/out; then exit 1; fi
      refused 6 'not complete' s3 copy s3://$B/a $W/none
      s3 copy --json $S s3://$B/a > $W/json
      python3 -c 'import json,sys; r = json.load(open(sys.argv[1])); assert r["present"] > 5 and r["copied"] > 5, r' $W/json
      s3 copy -q s3://$B/a $W/back
      diff -r $S $W/back
      """)
  }

  /// A copy whose refresh was interrupted is no store for any command, until the refresh is complete.
  @Test func anUnfinishedCopyIsNoStore() throws {
    try withBucket(
      """
      s3 copy -q $S s3://$B; s3 copy -q s3://$B $W/back
      cp $W/back/albumfs.conf $W/back/albumfs.copying
      refused 6 'not complete' albumfs info $W/back
      refused 6 'not complete' albumfs mount --read-only --password-file $P $W/back $M
      refused 6 'not complete' albumfs copy $W/back $W/other
      s3 copy -q s3://$B $W/back
      albumfs info $W/back > /dev/null
      """)
  }

  @Test func aServerWithoutATrustedCertificateIsRefused() throws {
    try withBucket(
      """
      openssl req -x509 -newkey rsa:2048 -nodes -keyout $W/key.pem -out $W/cert.pem -days 2 -subj /CN=localhost \\
        -addext subjectAltName=DNS:localhost 2> /dev/null
      cat > $W/server.py <<'END'
      import http.server, os, ssl
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(os.environ["W"] + "/cert.pem", os.environ["W"] + "/key.pem")
      server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
      server.socket = context.wrap_socket(server.socket, server_side=True)
      print(server.server_port, flush=True)
      server.serve_forever()
      END
      /usr/bin/python3 $W/server.py > $W/port 2> /dev/null & server=$!
      await test -s $W/port
      refused 53 'certificate' s3 copy $S s3://$B/a --endpoint https://localhost:$(cat $W/port)
      kill $server
      """)
  }

  @Test func nothingElseIsOverwritten() throws {
    try withBucket(
      """
      s3 copy -q $S s3://$B/a
      albumfs init -q --kdf interactive --chaff 0 --password-file $P $W/other
      refused 7 'another store' s3 copy --update $W/other s3://$B/a
      refused 7 'not empty' s3 copy $W/other s3://$B
      mkdir $W/mine; echo mine > $W/mine/file
      refused 7 'not empty' s3 copy --update s3://$B/a $W/mine
      [ "$(ls $W/mine)" = file ]
      refused 6 'no store' s3 copy s3://$B/b $W/new
      refused 1 'Both are' s3 copy s3://$B/a s3://$B/a/
      refused 1 'in the other' albumfs copy $S $S/segments/copy
      """)
  }

  /// Each refusal has its exit code, and says what to do.
  @Test func whatGoesWrongNamesTheRemedy() throws {
    let server = try ObjectServer.shared().authority
    try withBucket(
      delays: "remote=0.2,watch=0.3",
      """
      export AWS_ACCESS_KEY_ID=\(ObjectServer.accessKey) AWS_SECRET_ACCESS_KEY=wrong
      export AWS_ENDPOINT_URL=http://\(server)
      refused 53 'refuses the credentials' albumfs copy $S s3://$B/a
      refused 53 'no such bucket' s3 copy $S s3://no-such-bucket/a
      refused 52 'cannot be reached' albumfs copy $S s3://$B/a --endpoint http://127.0.0.1:1
      refused 52 'no server with that name' albumfs copy $S s3://$B/a --endpoint https://nowhere.invalid
      refused 53 'allow-http' albumfs copy $S s3://$B/a --endpoint http://192.0.2.1
      refused 1 'without a user name' albumfs copy $S s3://$B/a --endpoint https://me:secret@host
      refused 1 'ends with the bucket' albumfs copy $S s3://$B/a --endpoint http://\(server)/$B
      refused 1 'may only have letters' albumfs copy $S s3://$B/a --endpoint 'http://\(server)/x?y'
      export AWS_REGION=$'us-east-1\\nx'
      for line in "copy $S s3://$B/a" "check s3://$B/a" "info s3://$B/a" "mount s3://$B/a $W/nowhere"; do
        refused 1 '"us-east-1.nx" is no region' albumfs $line
      done
      unset AWS_REGION
      refused 1 's3://bucket/prefix' albumfs copy $S s3://$B//a
      unset AWS_ACCESS_KEY_ID
      refused 53 'there are no credentials' albumfs copy $S s3://$B/a
      refused 53 'has the profile x' albumfs copy $S s3://$B/a --profile x
      refused 53 'printed no JSON' albumfs copy $S s3://$B/a --credentials-command 'echo no'
      refused 6 'does not exist' s3 copy $W/nothing s3://$B/a
      """)
  }

  /// Credentials come from where every S3 tool takes them: a profile, its program, a command.
  @Test func credentialsComeFromWhereOthersTakeThem() throws {
    let json =
      #"{"Version": 1, "AccessKeyId": "\#(ObjectServer.accessKey)", "SecretAccessKey": "\#(ObjectServer.secretKey)"}"#
    let shared = try ObjectServer.shared()
    let (server, named) = (shared.authority, shared.namedAuthority)
    try withBucket(
      """
      mkdir $W/.aws
      cat > $W/.aws/credentials <<END
      [default]
      aws_access_key_id = nobody
      aws_secret_access_key = nothing
      [photos]
      aws_access_key_id = \(ObjectServer.accessKey)
      aws_secret_access_key = \(ObjectServer.secretKey)
      END
      cat > $W/.aws/config <<END
      [default]
      region = us-east-1
      endpoint_url = http://\(server)
      [profile photos]
      endpoint_url = http://\(server)
      [profile hosted]
      endpoint_url = http://\(named)
      s3 =
        addressing_style = virtual
      credential_process = cat $W/json
      [profile program]
      endpoint_url = http://\(server)
      credential_process = cat $W/json
      END
      echo '\(json)' > $W/json
      refused 53 'refuses the credentials' albumfs copy $S s3://$B/a
      albumfs copy -q $S s3://$B/a --profile photos
      AWS_PROFILE=photos albumfs copy -q --update $S s3://$B/a
      albumfs copy -q --update $S s3://$B/a --profile program
      # The bucket is in the name of the host.
      albumfs copy -q --update $S s3://$B/a --profile hosted
      albumfs copy -q --update $S s3://$B/a --credentials-command "cat $W/json"
      """)
  }
}
