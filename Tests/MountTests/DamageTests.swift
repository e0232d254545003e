import AlbumTestSupport
import Foundation
import Testing

/// Bytes of the store change while it is not mounted. Reading them gives an I/O error, and no other file is
/// affected.
@Suite(.serialized) struct DamageTests {
  /// Flips the middle byte of a segment file.
  private static let flip = """
    def segments():
        found = [os.path.join(d, f) for d, _, files in os.walk(S + "/segments") for f in files]
        return sorted(found)
    def flip(path, offset):
        with open(path, "r+b") as file:
            file.seek(offset); byte = file.read(1)[0]
            file.seek(offset); file.write(bytes([byte ^ 0x10]))

    """

  /// Writes two files of several segments each, and small ones. The store has nothing else.
  private func fill(_ mounted: MountedStore) throws {
    try mounted.mount()
    try mounted.python(
      """
      random.seed(3)
      os.mkdir(M + "/.plain")
      put(M + "/.plain/one", random.randbytes(3_000_000))
      put(M + "/.plain/two", random.randbytes(3_000_000))
      for i in range(20): put(M + "/.plain/small%d" % i, random.randbytes(2000))
      """)
    try mounted.sh("albumfs sync -q $M; cp -r $M/.plain $W/original")
    try mounted.unmount()
  }

  @Test func aFlippedByteIsAnErrorForOneFileAndRemovingItHelps() throws {
    let mounted = try MountedStore(initOptions: ["--chaff 0"])
    defer { mounted.abandon() }
    try fill(mounted)
    // A segment that is full belongs to one of the two large files, in the middle of it.
    try mounted.python(
      Self.flip + """
        import subprocess
        def damaged():
            bad = []
            for name in sorted(os.listdir(M + "/.plain")):
                try:
                    assert get(M + "/.plain/" + name) == get(W + "/original/" + name), name
                except OSError as error:
                    assert error.errno == errno.EIO, (name, error)
                    bad.append(name)
            return bad
        def mount(): subprocess.check_call(["albumfs", "mount", "--password-file", os.environ["P"], S, M])
        def umount(): subprocess.check_call(["albumfs", "umount", M])
        hits = 0
        for path in segments():
            flip(path, 500_000)
            mount()
            bad = damaged()
            assert len(bad) <= 1, (path, bad)
            for name in bad:
                hits += 1
                damaged()
                inode = os.stat(M + "/.plain/" + name).st_ino
                status = subprocess.check_output(["albumfs", "status", "-v", M], text=True)
                lines = [line for line in status.splitlines() if "cannot be read" in line]
                assert len(lines) == 1 and str(inode) in lines[0] and "damaged" in lines[0], status
                assert name not in lines[0]
                rest = subprocess.run(["cat", M + "/.plain/" + name], capture_output=True)
                assert b"Input/output error" in rest.stderr and rest.returncode == 1
            umount()
            flip(path, 500_000)
        assert hits >= 4, hits
        target = None
        for path in segments():
            flip(path, 500_000)
            mount()
            bad = damaged()
            if bad == ["one"]:
                os.unlink(M + "/.plain/one")
                put(M + "/.plain/one", get(W + "/original/one"))
                assert damaged() == []
                umount(); mount()
                assert damaged() == []
                target = path
            umount()
            if target: break
            flip(path, 500_000)
        assert target
        """)
  }

  @Test func aMissingSegmentCostsItsFilesOnlyAndAMissingJournalRefusesTheMount() throws {
    let mounted = try MountedStore(initOptions: ["--chaff 0"])
    defer { mounted.abandon() }
    try fill(mounted)
    let outcomes = try mounted.python(
      Self.flip + """
        import shutil
        for path in segments():
            copy = W + "/copy"
            shutil.copytree(S, copy)
            os.unlink(path.replace(S, copy))
            told = subprocess.run(["albumfs", "mount", "--password-file", os.environ["P"], copy, M],
                                  capture_output=True, text=True)
            if told.returncode != 0:
                print("refused")
            else:
                bad = []
                there = os.listdir(M + "/.plain") if os.path.exists(M + "/.plain") else []
                is_whole = set(there) == set(os.listdir(W + "/original"))
                for name in there:
                    try:
                        assert get(M + "/.plain/" + name) == get(W + "/original/" + name), name
                    except OSError as error:
                        assert error.errno == errno.EIO, (name, error)
                        bad.append(name)
                subprocess.check_call(["albumfs", "umount", M])
                if not is_whole:
                    # Names are missing only where a part of the journal is, and a check says so.
                    code = subprocess.call(["albumfs", "check", "--password-file", os.environ["P"], copy],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    print("told" if code == 26 else "older")
                else:
                    print("damaged" if bad else "whole")
            shutil.rmtree(copy)
        """)
    let lines = outcomes.split(separator: "\n")
    #expect(lines.contains("damaged") && !lines.contains("older"))
    #expect(lines.filter { $0 == "damaged" }.count >= 6, "\(lines)")
  }
}
