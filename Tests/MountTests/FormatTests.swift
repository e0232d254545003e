import AlbumTestSupport
import Foundation
import Testing

/// Two promises. Every later version opens a store of an earlier version. Format.md contains all that a
/// reader needs: `scripts/read-store`, which was written from it alone, shows what the mount shows.
@Suite(.serialized) struct FormatTests {
  struct Fixture: CustomTestStringConvertible, Sendable {
    var release = "format1"
    var name: String
    var password: String
    var testDescription: String { "\(release), \(name), \(password)" }
  }

  private static let fixtures = [
    Fixture(name: "sessions", password: "first"), Fixture(name: "compacted", password: "first"),
    Fixture(name: "killed", password: "first"), Fixture(name: "killed", password: "second"),
    Fixture(name: "ciphers", password: "first"), Fixture(name: "ciphers", password: "second"),
    Fixture(release: "0.1.0", name: "released", password: "first"),
    Fixture(release: "0.1.0", name: "released", password: "second"),
    Fixture(release: "history", name: "between", password: "first"),
  ]

  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path
  private static let folder = root + "/Tests/Fixtures"

  /// The prelude of the scripts of these tests: `tree` prints the content of a directory, `read_store` is the
  /// reader, and `unpack` makes a fixture's store.
  private static let prelude = """
    tree() { '\(folder)/tree' "$@"; }
    read_store() { '\(root)/scripts/read-store' "$@"; }
    unpack() { '\(folder)/unpack' "$@"; }

    """

  private func sh(_ mounted: MountedStore, _ script: String) throws -> String {
    try mounted.sh(Self.prelude + script)
  }

  private func outcome(_ mounted: MountedStore, _ script: String) throws -> Command.Outcome {
    try mounted.outcome(Self.prelude + script)
  }

  private func expected(_ fixture: Fixture, _ kind: String) throws -> String {
    let path = Self.folder + "/\(fixture.release)/\(fixture.name).\(fixture.password).\(kind)"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    return String(text.dropLast(text.hasSuffix("\n") ? 1 : 0))
  }

  /// Makes the store of a fixture, in `$W/store`, and its password, in `$W/password`.
  private func unpack(_ fixture: Fixture, _ mounted: MountedStore) throws {
    _ = try sh(
      mounted,
      """
      unpack '\(Self.folder)/\(fixture.release)/\(fixture.name).tar' $W/store
      echo '\(fixture.password)' > $W/password
      """)
  }

  @Test(arguments: fixtures) func aStoreOfFormat1OpensAndShowsWhatItHeld(_ fixture: Fixture) throws
  {
    let mounted = try MountedStore(initOptions: ["--chaff 0"], content: nil)
    defer { mounted.abandon() }
    try unpack(fixture, mounted)
    try mounted.mount(["--read-only"], password: fixture.password, of: mounted.work + "/store")
    #expect(try sh(mounted, "tree list $M") == expected(fixture, "list"))
    #expect(try sh(mounted, "tree content $M") == expected(fixture, "content"))
    #expect(try mounted.status().recovery.isEmpty || fixture.name == "killed")
    try mounted.unmount()
    _ = try sh(mounted, "albumfs check -q --password-file $W/password $W/store")
    // It can be written to as well, and then shows the old files as before.
    try mounted.mount(password: fixture.password, of: mounted.work + "/store")
    _ = try sh(mounted, "echo new > $M/new; albumfs sync -q --timeout 600 $M")
    #expect(
      try sh(mounted, "tree content $M | grep -v ' new$'") == expected(fixture, "content"))
    try mounted.unmount()
    _ = try sh(mounted, "albumfs check -q --password-file $W/password $W/store")
  }

  @Test(arguments: fixtures) func aReaderWrittenFromThePageAloneReadsIt(_ fixture: Fixture) throws {
    let mounted = try MountedStore(initOptions: ["--chaff 0"], content: nil)
    defer { mounted.abandon() }
    try unpack(fixture, mounted)
    let before = try sh(mounted, Self.state)
    let list = try sh(mounted, "read_store $W/store --password-file $W/password --list | sort")
    #expect(try lines(list) == lines(expected(fixture, "list")))
    _ = try sh(mounted, "read_store $W/store --password-file $W/password --extract $W/out")
    #expect(try sh(mounted, "tree content $W/out") == expected(fixture, "content"))
    #expect(try sh(mounted, Self.state) == before, "the reader changed the store")
    let key = "albumfs space recovery-key --password-file $W/password $W/store > $W/key"
    let other = try sh(mounted, "\(key); read_store $W/store --recovery-key-file $W/key | sort")
    #expect(lines(other) == lines(list))
  }

  private static let state = """
    find $W/store -printf '%P %y %m %s %T@ %C@\\n' | sort; \
    find $W/store -type f | sort | xargs sha256sum
    """

  private func lines(_ text: String) -> [Substring] { text.split(separator: "\n").sorted() }

  /// Compares the reader with the mount: every name, size, time and byte.
  private func compare(_ mounted: MountedStore, _ what: Comment) throws {
    try mounted.mount(["--read-only"])
    let (list, content) = (try sh(mounted, "tree list $M"), try sh(mounted, "tree content $M"))
    try mounted.unmount()
    #expect(!list.isEmpty)
    let read = try sh(mounted, "read_store $S --password-file $P --list")
    #expect(lines(read) == lines(list), what)
    _ = try sh(mounted, "rm -rf $W/out; read_store $S --password-file $P --extract $W/out")
    #expect(try sh(mounted, "tree content $W/out") == content, what)
  }

  @Test func theReaderShowsTheFilesOfEachKindOfSessionAsTheMountDoes() throws {
    let mounted = try MountedStore(
      initOptions: ["--chaff 2M", "--segment-size 256K"], content: nil)
    defer { mounted.abandon() }
    try compareBirth(mounted)
    try mounted.mount(["--grace", "0"])
    try mounted.python(Self.firstSession)
    try mounted.sync()
    try mounted.unmount()
    try compare(mounted, "after the first session")
    try mounted.mount(["--grace", "0"])
    try mounted.python(Self.secondSession)
    try mounted.unmount()
    try compare(mounted, "after changes of all kinds")
    // An attribute of that length does not fit into one frame.
    try mounted.sh("cp -r $S $W/store; cp $P $W/password")
    let groups =
      "print(sum(frame.bits & 1 for scan, _ in reader.Journal(space, print).chain for frame in scan.frames))"
    #expect(try program(mounted, groups) != "0")
    for number in 0..<6 {
      try mounted.mount()
      try mounted.sh("echo \(number) > $M/.plain/session")
      try mounted.unmount()
    }
    try mounted.mount(["--grace", "0"])
    try mounted.sh(
      "rm $M/.plain/*[1-9]; albumfs compact --json $M > $W/freed; echo after > $M/after")
    #expect(try mounted.sh("grep '\"freed\"' $W/freed").hasSuffix(" : 0,") == false)
    try mounted.unmount()
    try compare(mounted, "after compaction")
    try mounted.mount()
    try mounted.sh("echo closed > $M/.plain/closed; mv $M/Trip $M/Voyage; sync $M/.plain")
    try mounted.kill()
    try mounted.sh("fusermount3 -uz $M")
    try compare(mounted, "after a killed session")
    #expect(try sh(mounted, "cat $W/out/.plain/closed") == "closed")
  }

  private func compareBirth(_ mounted: MountedStore) throws {
    #expect(try sh(mounted, "read_store $S --password-file $P").isEmpty)
  }

  private static let firstSession = """
    random.seed(31)
    os.mkdir(M + "/Trip"); os.mkdir(M + "/.plain"); os.mkdir(M + "/Trip/Photo/Day 1")
    subprocess.run(["vips", "gaussnoise", W + "/one.png", "300", "200"], check=True)
    subprocess.run(["vips", "gaussnoise", W + "/two.jpg", "500", "300"], check=True)
    put(M + "/Trip/Photo/one.png", get(W + "/one.png"))
    put(M + "/Trip/two.jpg", get(W + "/two.jpg"))
    put(M + "/Trip/Photo/Day 1/three.png", get(W + "/one.png"))
    for number in range(120):
        put(f"{M}/.plain/{number}", random.randbytes(random.randrange(1, 20_000)))
    put(M + "/large", random.randbytes(900_000))
    put(M + "/to be renamed", b"renamed")
    put(M + "/gone", b"gone")
    """

  private static let secondSession = """
    os.remove(M + "/gone")
    os.rename(M + "/to be renamed", M + "/renamed")
    os.link(M + "/renamed", M + "/.plain/hard link")
    os.symlink("../renamed", M + "/.plain/symlink")
    with open(M + "/large", "r+b") as file:
        for place in (0, 65_530, 131_072, 400_001):
            file.seek(place); file.write(b"overwritten")
        file.truncate(850_000)
    with open(M + "/.plain/sparse", "wb") as file:
        for place in (5_000, 3_000_000, 40_000_000):
            file.seek(place); file.write(b"island")
        file.truncate(50_000_000)
    with open(M + "/.plain/islands", "wb") as file:
        for number in range(1_500):
            file.seek(number * 8_192); file.write(b"island %d" % number)
    os.rename(M + "/Trip/two.jpg", M + "/Trip/Photo/Day 1/two.jpg")
    os.remove(M + "/Trip/Thumb/one.png")
    os.makedirs(M + "/.plain/" + "/".join(["deep"] * 60))
    put(os.fsencode(M) + b"/.plain/\\xff\\n", b"odd")
    os.setxattr(M + "/renamed", "user.note", b"a value")
    os.setxattr(M + "/large", "user.large", random.randbytes(65_500))
    folder = os.open(M, os.O_RDONLY); os.fsync(folder); os.close(folder)
    os.removexattr(M + "/large", "user.large")
    os.chmod(M + "/renamed", 0o640)
    """

  @Test func theReaderRefusesWhatItCannotReadAndSaysWhy() throws {
    let mounted = try MountedStore(initOptions: ["--chaff 0"], content: nil)
    defer { mounted.abandon() }
    try unpack(Self.fixtures[0], mounted)
    func refused(_ script: String, _ code: Int32, _ words: String) throws {
      let outcome = try outcome(mounted, script)
      #expect(outcome.code == code, "\(script): \(outcome.errors)")
      #expect(outcome.errors.contains(words), "\(script): \(outcome.errors)")
      #expect(outcome.output.isEmpty)
    }
    _ = try sh(mounted, "echo wrong > $W/wrong")
    try refused("read_store $W/store --password-file $W/wrong", 12, "no space of this store")
    try refused("read_store $W --password-file $W/password", 6, "not a store")
    try refused("read_store $W/nothing --password-file $W/password", 6, "No such file")
    try refused("read_store $W/store --password-file $W/nothing", 9, "No such file")
    let newer = """
      for file in albumfs.conf albumfs.conf.bak; do sed -i 's/^format 1/format 2/' $W/store/$file; done
      read_store $W/store --password-file $W/password
      """
    try refused(newer, 8, "written by a newer albumfs")
    let edited = """
      printf 'albumfs store\\nformat 1 segment-size 7\\n' | tee $W/store/albumfs.conf{,.bak} > /dev/null
      read_store $W/store --password-file $W/password
      """
    try refused(edited, 8, "damaged or was edited")
    _ = try sh(mounted, "mkdir $W/full; touch $W/full/x")
    let full = "read_store $S --password-file $P --extract $W/full"
    try refused(full, 11, "not empty")
  }

  @Test func damageIsNamedAndCostsThatFileAlone() throws {
    let mounted = try MountedStore(initOptions: ["--chaff 0"], content: nil)
    defer { mounted.abandon() }
    let fixture = Self.fixtures[0]
    try unpack(fixture, mounted)
    try program(
      mounted,
      """
      catalog = reader.Journal(space, print).load()
      path, inode = next((path, inode) for path, inode in catalog.tree() if path == [b"records.bin"])
      extent = inode.extents[0]
      name = space.name(1, extent[2], catalog.birth(space, extent[2]))
      with open(f"{W}/store/segments/{name[:2]}/{name}", "r+b") as file:
          file.seek(extent[3] * 256 + 5000); file.write(b"damage")
      """)
    let read = try outcome(
      mounted, "read_store $W/store --password-file $W/password --extract $W/out")
    #expect(read.code == 26)
    #expect(read.errors.contains("damaged: records.bin: bytes 0-65535 cannot be read"))
    #expect(read.errors.components(separatedBy: "damaged: ").count == 2, "\(read.errors)")
    let others = "grep -v ' records.bin$'"
    let found = try sh(mounted, "tree content $W/out | \(others)")
    let wanted = try expected(fixture, "content").split(separator: "\n")
      .filter { !$0.hasSuffix(" records.bin") }.joined(separator: "\n")
    #expect(found == wanted)
    #expect(try sh(mounted, "stat -c %s $W/out/records.bin") == "66313")
  }
  @Test(arguments: [fixtures[0], fixtures[1]])
  func whatIsLostOfTheJournalTheReaderAndTheMountMissAlike(_ fixture: Fixture) throws {
    let mounted = try MountedStore(initOptions: ["--chaff 0"], content: nil)
    defer { mounted.abandon() }
    try unpack(fixture, mounted)
    let segments = try program(
      mounted,
      """
      for (kind, number), births in space.own.items():
          for birth in births:
              if kind in (2, 3): print(space.name(kind, number, birth))
      """)
    let whole = try lines(expected(fixture, "list"))
    var differences = 0
    for segment in segments.split(separator: "\n") {
      _ = try sh(mounted, "rm -rf $W/store")
      try unpack(fixture, mounted)
      _ = try sh(mounted, "rm $W/store/segments/*/\(segment)")
      let read = try outcome(mounted, "read_store $W/store --password-file $W/password")
      do {
        try mounted.mount(["--read-only"], password: fixture.password, of: mounted.work + "/store")
      } catch {
        #expect(read.code == 26, "\(segment): \(error)")
        continue
      }
      let shown = try sh(mounted, "tree list $M")
      try mounted.unmount()
      #expect(lines(read.output) == lines(shown), "\(segment)")
      if lines(read.output) != whole {
        differences += 1
        #expect(read.code == 26, "the reader does not say that \(segment) is missing")
      }
    }
    #expect(differences > 0)
  }

  /// Runs a Python program that has the reader as a module, and the unlocked space of `$W/store`.
  @discardableResult
  private func program(_ mounted: MountedStore, _ text: String) throws -> String {
    try mounted.python(
      """
      import importlib.machinery, importlib.util, struct
      sys.dont_write_bytecode = True
      loader = importlib.machinery.SourceFileLoader("reader", "\(Self.root)/scripts/read-store")
      reader = importlib.util.module_from_spec(importlib.util.spec_from_loader("reader", loader))
      loader.exec_module(reader)
      store = reader.Directory(W + "/store")
      size, line, derivations = reader.read_conf(store)
      keys = reader.open_slot(store, line, derivations, get(W + "/password")[:-1])
      space = reader.Space(store, size, *keys)
      \(text)
      """)
  }

  /// Replaces the space's journal by one frame with these items, as an attacker with the keys can.
  private func forge(_ mounted: MountedStore, _ items: String) throws {
    try program(
      mounted,
      """
      def seal(kind, offset, name, plaintext):
          nonce, mask = os.urandom(24), ctypes.create_string_buffer(8)
          reader.raw.crypto_stream_xchacha20(mask, ctypes.c_ulonglong(8), nonce, space.keys[5])
          header = struct.pack("<IBxxx", len(plaintext), kind)
          associated = struct.pack("<HBxI", 1, kind, len(plaintext)) + bytes.fromhex(name) + struct.pack("<Q", offset)
          sealed = reader.sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, associated, nonce, space.keys[2])
          record = nonce + bytes(one ^ other for one, other in zip(header, mask.raw)) + sealed
          return record + os.urandom(-len(record) % 256)
      def item(kind, body): return struct.pack("<HI", kind, len(body)) + body
      def inode(number, mode, links=1):
          return item(1, struct.pack("<QqqqqQQHHIIIIBBHQQ", number, 0, 0, 0, 0, 0, 0, mode, 0, links, 0, 0, 0, 0, 0, 0, 0, 0))
      def entry(directory, name, number): return item(4, struct.pack("<QQ", directory, number) + name)
      items = inode(1, 0o40755)
      \(items)
      for (kind, number), births in space.own.items():
          for birth in births:
              if kind != 4:
                  name = space.name(kind, number, birth)
                  os.remove(f"{W}/store/segments/{name[:2]}/{name}")
      name, image = space.name(2, 1, 77), os.urandom(256)
      for _ in range(2): image += seal(2, len(image), name, struct.pack("<I", 1) + bytes(204))
      image += seal(3, len(image), name, struct.pack("<Q32xB7x", 1, 0) + items)
      put(f"{W}/store/segments/{name[:2]}/{name}", image + os.urandom(size - len(image)))
      """)
  }

  @Test func noNameOfAStoreMakesTheReaderWriteOutsideOfTheDirectory() throws {
    let mounted = try MountedStore(initOptions: ["--chaff 0"], content: nil)
    defer { mounted.abandon() }
    let extract = "rm -rf $W/out; read_store $W/store --password-file $W/password --extract $W/out"
    for name in ["..", ".", "../outside", "/outside", "a/b", "nul\\0", ""] {
      _ = try sh(mounted, "rm -rf $W/store")
      try unpack(Self.fixtures[2], mounted)
      try forge(
        mounted, "items += inode(2, 0o100644) + entry(1, b\"\(name)\", 2)")
      let read = try outcome(mounted, extract)
      #expect(
        read.code == 8 && read.errors.contains("a name that is none"), "\(name): \(read.errors)")
    }
    // A link that leads out of the directory, a directory within itself, a directory with two names, and a
    // program with set-id bits.
    _ = try sh(mounted, "rm -rf $W/store; mkdir $W/outside")
    try unpack(Self.fixtures[2], mounted)
    try forge(
      mounted,
      """
      items += inode(2, 0o120777) + item(5, struct.pack("<Q", 2) + os.fsencode(W) + b"/outside") + entry(1, b"link", 2)
      items += inode(3, 0o40755) + entry(1, b"circle", 3) + entry(3, b"again", 3) + entry(3, b"root", 1)
      items += inode(4, 0o40755) + entry(1, b"one", 4) + entry(1, b"two", 4) + entry(2, b"below a link", 5)
      items += inode(5, 0o106755, 2) + entry(4, b"program", 5)
      """)
    _ = try sh(mounted, extract)
    let found = try sh(mounted, "cd $W/out; find . -mindepth 1 -printf '%P %M\\n' | sort")
    #expect(
      found == """
        circle drwxr-xr-x
        link lrwxrwxrwx
        one drwxr-xr-x
        one/program -rwxr-xr-x
        """)
    #expect(try sh(mounted, "ls -A $W/outside").isEmpty)
    #expect(
      try sh(mounted, "test ! -e $W/../outside; ls $W | sort | xargs")
        == "out outside password store")
  }
}
