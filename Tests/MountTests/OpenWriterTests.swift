import AlbumTestSupport
import Testing

/// A copy of a file that another process has open for writing equals what a reader sees. The kernel holds
/// pages that albumfs has not received; the copy has their bytes and no holes.
@Suite(.serialized) struct OpenWriterTests {
  /// `Writer(path, script)` is a process that opens a file and carries out the script: `w` writes a number of
  /// bytes of one value at an offset, `t` sets the size, `s` is fsync. It keeps the file open until `close`.
  /// A child of the test would not do, because each of its closes flushes the file.
  private static let writer = """
    WRITER = '''
    import os, sys
    fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR, 0o644)
    for step in sys.argv[2].split(","):
        kind, *numbers = step.split(":"); numbers = list(map(int, numbers))
        if kind == "w": os.pwrite(fd, bytes([numbers[2]]) * numbers[1], numbers[0])
        elif kind == "t": os.ftruncate(fd, numbers[0])
        elif kind == "s": os.fsync(fd)
    print("ready", flush=True); sys.stdin.read()
    '''
    class Writer:
        def __init__(self, path, script):
            self.process = subprocess.Popen(
                [sys.executable, "-c", WRITER, path, script],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        def wait(self):
            assert self.process.stdout.readline() == b"ready\\n"; return self
        def close(self):
            self.process.stdin.close(); assert self.process.wait() == 0
    D = M + "/.plain"; os.mkdir(D); os.mkdir(W + "/out")
    def copy(command, path, out):
        subprocess.run(
            ["bash", "-ec", command], check=True, env=dict(os.environ, F=path, O=out))

    """

  @Test func aFileThatIsBeingWrittenIsCopiedAsItIsRead() throws {
    try MountedStore.use { mounted in
      try mounted.python(
        Self.writer + """
          cases = {
              "fresh": ("w:0:300000:65", b"A" * 300_000),
              "behind a hole":
                  ("t:1000000,w:500000:100000:66", bytes(500_000) + b"B" * 100_000 + bytes(400_000)),
              "appended to": ("w:0:1000:65,s,w:1000:200000:66", b"A" * 1000 + b"B" * 200_000),
              "in a stored hole": (
                  "w:0:1000:65,t:1000000,s,w:500000:1000:66",
                  b"A" * 1000 + bytes(499_000) + b"B" * 1000 + bytes(499_000)),
          }
          tools = {
              "cp": "cp $F $O", "cp --sparse": "cp --sparse=always $F $O", "mv": "mv $F $O",
              "tar": "tar -C ${F%/*} -Scf - ${F##*/} | tar -C $W/out -xf -; mv $W/out/${F##*/} $O",
          }
          number = 0
          for case, (script, content) in cases.items():
              for tool, command in tools.items():
                  number += 1
                  path, out = f"{D}/{number}", f"{W}/{number}"
                  # Known to the kernel, and known to have no blocks.
                  put(path, b""); assert os.stat(path).st_size == 0
                  writer = Writer(path, script).wait()
                  copy(command, path, out)
                  assert get(out) == content, (case, tool, len(get(out)))
                  writer.close()
          """)
    }
  }

  @Test func holesOfAFileThatIsBeingWrittenAreFound() throws {
    try MountedStore.use { mounted in
      try mounted.python(
        Self.writer + """
          MiB = 1 << 20
          writer = Writer(D + "/f", f"w:0:{MiB}:65,t:{1000 * MiB},w:{100 * MiB}:{MiB}:66").wait()
          fd = os.open(D + "/f", os.O_RDONLY)
          assert os.lseek(fd, 0, os.SEEK_DATA) == 0
          assert os.lseek(fd, 0, os.SEEK_HOLE) == MiB
          assert os.lseek(fd, 2 * MiB, os.SEEK_DATA) == 100 * MiB
          assert os.lseek(fd, 100 * MiB, os.SEEK_HOLE) == 101 * MiB
          fails(errno.ENXIO, os.lseek, fd, 200 * MiB, os.SEEK_DATA)
          assert os.lseek(fd, 200 * MiB, os.SEEK_HOLE) == 200 * MiB
          fails(errno.ENXIO, os.lseek, fd, 1000 * MiB, os.SEEK_HOLE)
          writer.close()
          """)
    }
  }

  /// Makes more copies at once than the daemon has threads. Each makes the kernel write pages out, which
  /// needs one of these threads.
  @Test func manyFilesThatAreBeingWrittenAreCopiedAtOnce() throws {
    try MountedStore.use { mounted in
      try mounted.python(
        Self.writer + """
          writers = [Writer(f"{D}/{n}", f"t:3000000,w:1000000:1500000:{n + 1}") for n in range(24)]
          for writer in writers: writer.wait()
          copies = [subprocess.Popen(["cp", f"{D}/{n}", f"{W}/{n}"]) for n in range(24)]
          assert [one.wait() for one in copies] == [0] * 24
          for n in range(24):
              assert get(f"{W}/{n}") == bytes(1_000_000) + bytes([n + 1]) * 1_500_000 + bytes(500_000)
          for writer in writers: writer.close()
          """)
    }
  }

  /// Replacing by rename gives the old file or the new one, and never half of it, even if the writer of the
  /// new file has not closed it yet.
  @Test(arguments: ["", "RENAME_EXCHANGE"]) func aRenameCarriesWhatIsStillInTheKernel(
    _ flag: String
  ) throws {
    try MountedStore.use { mounted in
      let isExchange = !flag.isEmpty
      try mounted.python(
        Self.writer + """
          put(D + "/old", b"old" * 1000)
          writers = [Writer(D + "/new", "w:0:300000:65").wait()]
          if \(isExchange ? "True" : "False"):
              writers.append(Writer(D + "/old", "t:0,w:0:200000:66").wait())
          renameat2(D + "/new", D + "/old", \(isExchange ? flag : "0"))
          # Closing a file has all that was done before in the journal.
          put(D + "/another"); os.kill(\(mounted.daemon), 9)
          for writer in writers: writer.process.kill()
          """)
      mounted.forget()
      try mounted.mount()
      try mounted.python(
        """
        D = M + "/.plain"
        assert get(D + "/old") == b"A" * 300_000, len(get(D + "/old"))
        if \(isExchange ? "True" : "False"):
            assert get(D + "/new") == b"B" * 200_000, len(get(D + "/new"))
        """)
    }
  }
}
