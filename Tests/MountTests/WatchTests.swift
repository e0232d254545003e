import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// A user can watch what a mount does. Promises: the lines of `--trace` show every request and no names, and go to
/// a file that nobody else can read, outside of the store and the mount; nobody who does not read them holds the
/// mount up. SIGUSR1 shows the state of a mount, even if it is stuck.
@Suite(.serialized, .timeLimit(.minutes(30))) struct WatchTests {
  private static let everything = "--trace fuse,journal,compaction,thumbnails"

  private func withStore(
    as person: MountedStore.Person = .tester, _ body: (MountedStore) throws -> Void
  ) throws {
    let mounted = try MountedStore(as: person)
    defer { mounted.abandon() }
    try body(mounted)
  }

  @Test(arguments: MountedStore.Person.allCases)
  func aTraceShowsRequestsFramesSegmentsAndThumbnailsButNoNames(person: MountedStore.Person) throws
  {
    try withStore(as: person) { mounted in
      try mounted.write(Data(TestPictures.jpeg(orientation: 1)), "picture.jpg")
      try mounted.write(Data("no picture".utf8), "other.jpg")
      try mounted.sh(
        """
        albumfs mount -q --grace 0 \(Self.everything) --trace-file $W/trace --password-file $P $S $M
        albumfs history --off --password-file $P $M > $W/history
        mkdir $M/Secret; cp $W/picture.jpg $W/other.jpg $M/Secret/Photo/; echo plaintext > $M/Secret/text
        head -c 1500000 /dev/urandom > $M/Secret/large
        test ! -e $M/Secret/missing; sync $M/Secret/text; cat $M/Secret/text > $W/out
        albumfs sync -q $M; rm -r $M/Secret; albumfs compact -q $M; albumfs umount $M
        test "$(stat -c %a $W/trace)" = 600
        """)
      let lines = try mounted.sh("cat $W/trace").split(separator: "\n").map(String.init)
      let form = try Regex(
        #"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z (fuse|journal|compaction|thumbnails) [\w-]+( \w+=[\w-]+)*$"#
      )
      for line in lines { #expect(try form.firstMatch(in: line) != nil, "\(line)") }
      for event in [
        #"fuse INIT node=0 reply=\d+ errno=0 us=\d+"#,
        #"fuse MKDIR node=1 reply=\d+ errno=0 us=\d+"#,
        #"fuse LOOKUP node=\d+ reply=0 errno=2 us=\d+"#,
        #"fuse WRITE node=\d+ offset=0 size=10 reply=8 errno=0 us=\d+"#,
        #"fuse FORGET|fuse BATCH_FORGET"#,
        #"journal frame number=\d+ segment=\d+ us=\d+"#, #"journal barrier frame=\d+ us=\d+"#,
        #"compaction segment-born kind=data number=\d+"#, #"compaction segment-born kind=journal"#,
        #"compaction segment-retired kind=data"#, #"compaction segment-removed kind=data"#,
        #"compaction turn victims=\d+ us=\d+"#, #"thumbnails queued node=\d+ as=written"#,
        #"thumbnails begun node=\d+"#, #"thumbnails done node=\d+ size=\d+ us=\d+"#,
        #"thumbnails refused node=\d+ reason=notAPicture us=\d+"#,
      ] {
        let pattern = try Regex(event)
        #expect(try lines.contains { try pattern.firstMatch(in: $0) != nil }, "no \(event)")
      }
      for secret in ["Secret", "picture", "text", "missing", "horse"] {
        #expect(!lines.contains { $0.contains(secret) }, "\(secret)")
      }
    }
  }

  @Test func namesAreShownIfTheUserWantsThemAndAreasAloneIfTheyAreNot() throws {
    try withStore { mounted in
      try mounted.sh(
        """
        albumfs mount -q --trace fuse --trace-names --trace-file $W/trace --password-file $P $S $M
        mkdir "$M/a b"; echo text > "$M/a b/x"; mv "$M/a b/x" "$M/a b/y"; albumfs umount $M
        grep -q ' fuse MKDIR node=1 name="a b" ' $W/trace
        grep -q ' fuse CREATE node=[0-9]* name="x" ' $W/trace
        grep -q ' fuse RENAME2\\? node=[0-9]* name="x" name="y" ' $W/trace
        ! grep -v ' fuse ' $W/trace
        # The next trace is appended.
        wc -l < $W/trace > $W/before
        albumfs mount -q --trace journal --trace-file $W/trace --password-file $P $S $M; albumfs umount $M
        test $(head -n $(cat $W/before) $W/trace | grep -c ' fuse ') = $(cat $W/before)
        """)
    }
  }

  @Test func aTraceLiesNeitherInTheStoreNorInTheMountNorWhereOthersReadIt() throws {
    try withStore { mounted in
      func refused(_ file: String, _ words: String) throws {
        let outcome = try mounted.outcome(
          "albumfs mount -q \(Self.everything) --trace-file \(file) --password-file $P $S $M")
        #expect(outcome.code != 0 && outcome.errors.contains(words), "\(file): \(outcome.errors)")
        try mounted.sh("! mountpoint -q $M")
      }
      try mounted.sh(
        """
        ln -s $S $W/link; mkdir $S/segments/new $M/below; touch $W/open; chmod 644 $W/open
        ln -s $W/elsewhere $W/leads; mkfifo -m 600 $W/fifo
        """)
      try refused("$S/trace", "lies in the store")
      try refused("$W/link/segments/new/trace", "lies in the store")
      try mounted.sh("rmdir $S/segments/new; test -z \"$(find $S -name trace)\"")
      try refused("$M/below/trace", "lies in the mount point")
      try mounted.sh("rmdir $M/below")
      for file in ["open", "leads", "fifo"] { try refused("$W/\(file)", "\(file)") }
      try mounted.sh("test ! -e $W/elsewhere; test ! -s $W/open")
      for words in [
        "--trace fuse,journals", "--trace ''", "--trace-file $W/t", "--trace-names",
        "--trace fuse --trace-names",
      ] {
        let outcome = try mounted.outcome("albumfs mount \(words) --password-file $P $S $M")
        #expect(outcome.code == 1, "\(words): \(outcome.errors)")
      }
    }
  }

  @Test func aMountGoesOnWhenNobodyReadsItsTrace() throws {
    try withStore { mounted in
      try mounted.sh(
        """
        mkfifo $W/pipe; exec 9<> $W/pipe
        albumfs mount --foreground --trace fuse --password-file $P $S $M 2>&9 & daemon=$!
        await mountpoint -q $M
        mkdir $M/A; echo kept > $M/A/file
        /usr/bin/python3 -c 'import os, sys
        for i in range(3000): os.listxattr(sys.argv[1])' $M/A/file
        test "$(cat $M/A/file)" = kept
        cat <&9 > $W/trace 2>&1 & reader=$!
        await 'test "$(grep -c LISTXATTR $W/trace)" = 3000'
        albumfs umount $M; wait $daemon; kill $reader
        """)
    }
  }

  // MARK: SIGUSR1

  @Test func aSignalShowsThreadsLocksQueuesAndSegmentsAndTheMountGoesOn() throws {
    try withStore { mounted in
      try mounted.sh(
        """
        albumfs mount -q --foreground --password-file $P $S $M 2> $W/log & daemon=$!
        await mountpoint -q $M
        mkdir $M/Secret; echo text > $M/Secret/file; sync $M/Secret/file
        kill -USR1 $daemon
        await grep -q "'end of state'" $W/log
        echo more > $M/Secret/other; albumfs umount $M; wait $daemon
        for words in 'state of process' 'thread .* albumfs-keeper: [SRD]' 'thread .* state: R' \\
          'requests: [0-9]' 'thumbnails: 0 being made; waiting: 0 wanted' 'journal: frame [0-9]' \\
          'segments: .* being filled, .* retired; open: [0-9]* with [0-9]* bytes of tail'; do
          grep -q "$words" $W/log || { echo "no $words"; cat $W/log; false; }
        done
        ! grep -q Secret $W/log
        """)
    }
  }

  /// A store lies in a space whose daemon stands still, like a disk that has stopped to respond.
  @Test func aMountThatIsStuckShowsItsState() throws {
    try withStore { mounted in
      try mounted.sh(
        """
        albumfs mount -q --password-file $P $S $M; disk=$(albumfs status --json $M | grep '"pid"' | tr -dc 0-9)
        cp -a $S $W/copy; mkdir $M/.disk; cp -a $W/copy $M/.disk/store; sync -f $M
        trap 'kill -CONT $disk 2>/dev/null || true; umount -l ${M}2 2>/dev/null || true' EXIT
        albumfs mount -q --foreground --password-file $P $M/.disk/store ${M}2 2> $W/log & daemon=$!
        await mountpoint -q ${M}2
        echo text > ${M}2/file; sync ${M}2/file
        kill -STOP $disk; await "grep -q 'T (stopped)' /proc/$disk/status"
        { echo more > ${M}2/file; sync ${M}2/file; } & writer=$!
        # The write waits for the disk, and the report for nothing.
        stuck() { kill -USR1 $daemon; grep -q 'requests: [1-9]' $W/log; }
        await stuck; await grep -q "'end of state'" $W/log; grep -q 'albumfs-keeper: [DRS]' $W/log
        kill -CONT $disk; wait $writer; test "$(cat ${M}2/file)" = more
        albumfs umount ${M}2; wait $daemon; albumfs umount $M
        """)
    }
  }
}
