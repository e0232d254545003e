package import Foundation
import Glibc

/// A test's own store with one space, mounted by the built `albumfs`, and shell scripts that use it as a
/// person would. Everything lies in one scratch directory.
///
/// Scripts see `$M` the mount point, `$S` the store, `$W` a directory to work in, `$P` a file with the
/// password; `albumfs` is in PATH. They stop at the first command that fails.
package final class MountedStore {
  /// The user who mounts and runs the scripts.
  package enum Person: Sendable, CaseIterable {
    /// The user who runs the tests.
    case tester
    /// A user without rights, who mounts through fusermount3.
    case ordinary
  }

  package struct Failed: Error, CustomStringConvertible {
    package var description: String
    package init(description: String) { self.description = description }
  }

  /// The fields of `albumfs status --json` that tests read.
  package struct Status: Decodable {
    package struct Thumbnails: Decodable {
      package struct Failure: Decodable {
        package var path: String
        package var reason: String
      }
      package var pending: Int
      package var failed: Int
      package var failures: [Failure]
    }
    package var pid: Int32
    package var albums: Int
    package var photos: Int
    package var readOnly: Bool
    package var readOnlyReason: String?
    package var shortage: String?
    package var thumbnails: Thumbnails
    package var recovery: [String]
    package var transport: String
    package var transportReason: String?
  }

  /// The limit for a script, in seconds.
  private static let patience = 900

  private let scratch: ScratchDirectory
  private let person: Person
  private let programs: String
  /// True if the store starts with as much chaff as a user's, and sessions add some. Tests that count
  /// segments, or fill small disks, could not distinguish that from what they look for.
  private let hasChaff: Bool
  /// Fixed delays of albumfs that are others than a user's, as `TestHooks.Delay` has them.
  package var delays = ""
  /// Mount points and the daemons that serve them.
  private var daemons: [String: Int32] = [:]

  package var mountPoint: String { scratch.path("mnt") }
  package let store: String
  /// A second mount point, for another space or a copy.
  package var secondMountPoint: String { scratch.path("mnt2") }
  package var work: String { scratch.path("work") }

  /// Makes a store, mounts its space, runs the body and unmounts, which must succeed. Leaves nothing mounted
  /// in any case.
  package static func use(
    as person: Person = .tester, initOptions: [String] = [], mountOptions: [String] = [],
    storeIn folder: String? = nil, hasChaff: Bool = false, content: Content? = .nothing,
    delays: String = "", _ body: (MountedStore) throws -> Void
  ) throws {
    let mounted = try MountedStore(
      as: person, initOptions: initOptions, storeIn: folder, hasChaff: hasChaff, content: content)
    defer { mounted.abandon() }
    mounted.delays = delays
    try mounted.mount(mountOptions)
    try body(mounted)
    for point in mounted.daemons.keys.sorted() { try mounted.unmount(point) }
  }

  /// What a store holds when a test begins. It is made once in a process (`Templates`).
  package struct Content: Sendable {
    let name: String
    let fill: @Sendable (MountedStore) throws -> Void

    package init(_ name: String, _ fill: @escaping @Sendable (MountedStore) throws -> Void) {
      self.name = name
      self.fill = fill
    }

    /// An empty space.
    package static let nothing = Content("nothing") { _ in }
  }

  /// A store with one space, not mounted, by default in a new folder: a copy of one that was made before with
  /// the same options and `content`. nil: `albumfs init` makes it, for tests about a new store. A test that
  /// mounts it calls `abandon` at the end.
  package init(
    as person: Person = .tester, initOptions: [String] = [], storeIn folder: String? = nil,
    hasChaff: Bool = false, content: Content? = .nothing
  ) throws {
    guard unsafe access("/dev/fuse", R_OK | W_OK) == 0 else {
      throw Failed(
        description: "These tests mount for real, and /dev/fuse cannot be used: \(errno).")
    }
    self.person = person
    self.hasChaff = hasChaff
    scratch = try ScratchDirectory()
    store = (folder ?? scratch.path) + "/store"
    programs = try MountedStore.programs(for: person, in: scratch)
    for name in ["mnt", "mnt2", "work"] {
      try FileManager.default.createDirectory(
        atPath: scratch.path(name), withIntermediateDirectories: false)
    }
    try scratch.write("password", "correct horse\n")
    try giveAway()
    let options = initOptions.joined(separator: " ")
    guard let content else {
      try sh("albumfs init -q --kdf interactive --segment-size 1M \(options) --password-file $P $S")
      return
    }
    let kind = "\(person) \(options) \(hasChaff) \(content.name)"
    let template = try Templates.store(kind) { folder in
      let original = try MountedStore(
        as: person, initOptions: initOptions, storeIn: folder, hasChaff: hasChaff, content: nil)
      defer { original.abandon() }
      try content.fill(original)
    }
    try sh("cp -a --reflink=auto '\(template)' $S")
  }

  // MARK: Mounting

  /// Mounts the space of a password, by default the one in `--password-file`; from a copy of the store if
  /// one is given.
  package func mount(
    _ options: [String] = [], at point: String? = nil, password: String? = nil,
    of copy: String? = nil
  ) throws {
    let point = point ?? mountPoint
    if let password { try setPassword(password, "password-of-mount") }
    let file = password == nil ? "$P" : "$W/../password-of-mount"
    try sh(
      "albumfs mount \(options.joined(separator: " ")) --password-file \(file) '\(copy ?? store)' '\(point)'"
    )
    daemons[point] = try status(point).pid
  }

  /// Unmounts; returns when the daemon has ended.
  package func unmount(_ point: String? = nil) throws {
    let point = point ?? mountPoint
    try sh("albumfs umount '\(point)'")
    if let daemon = daemons.removeValue(forKey: point) { try waitForEnd(of: daemon) }
  }

  package func remount(_ options: [String] = []) throws {
    try unmount()
    try mount(options)
  }

  /// Kills the daemon, as the kernel does when memory runs out, and waits for its end. The dead mount point
  /// stays.
  package func kill() throws {
    guard let daemon = daemons.removeValue(forKey: mountPoint) else {
      throw Failed(description: "nothing is mounted")
    }
    _ = Glibc.kill(daemon, SIGKILL)
    try waitForEnd(of: daemon)
  }

  /// The daemon of the mount.
  package var daemon: Int32 { daemons[mountPoint] ?? 0 }

  /// Leaves the mount and its daemon to other code, which ends them.
  package func forget() { daemons[mountPoint] = nil }

  private func waitForEnd(of process: Int32) throws {
    if !eventually({ hasEnded(process) }) {
      throw Failed(description: "the daemon \(process) does not end")
    }
  }

  /// The end of a process that is not a child shows in /proc. A zombie has ended when its other threads have
  /// ended too: until then they hold the mount.
  private func hasEnded(_ process: Int32) -> Bool {
    let directory = "/proc/\(process)"
    guard let line = try? String(contentsOfFile: directory + "/stat", encoding: .utf8),
      let state = line.split(separator: ")").last?.split(separator: " ").first,
      let threads = try? FileManager.default.contentsOfDirectory(atPath: directory + "/task")
    else { return true }
    return state == "Z" && threads.count <= 1
  }

  /// Leaves nothing mounted and no daemon running, whatever state they are in.
  package func abandon() {
    for point in [mountPoint, scratch.path("mnt2")] {
      guard isMounted(point) else { continue }
      let daemon = daemons[point] ?? (try? status(point).pid)
      _ = try? run(person, "timeout 20 albumfs umount -q '\(point)'")
      if isMounted(point), let daemon, isAlbumfs(daemon) {
        // The next step releases a daemon that cannot end.
        _ = Glibc.kill(daemon, SIGKILL)
        _ = try? run(person, "timeout 20 albumfs umount -q '\(point)'")
      }
      if isMounted(point) { _ = try? run(person, "fusermount3 -uz '\(point)'") }
      if isMounted(point) { _ = try? Command("/usr/bin/umount", ["-l", point]).run() }
      if let daemon, isAlbumfs(daemon) { _ = Glibc.kill(daemon, SIGKILL) }
    }
  }

  private func isMounted(_ point: String) -> Bool {
    let table = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
    return table.contains(" \(point) ")
  }

  private func isAlbumfs(_ process: Int32) -> Bool {
    let name = try? String(contentsOfFile: "/proc/\(process)/comm", encoding: .utf8)
    return name?.hasPrefix("albumfs") ?? false
  }

  // MARK: Scripts

  /// Runs a script and returns its output without the final newline. Throws if it fails, with all of its
  /// output.
  @discardableResult
  package func sh(_ script: String) throws -> String {
    let outcome = try run(person, script)
    guard outcome.code == 0 else {
      // A report may show the first line alone.
      let last = outcome.errors.split(separator: "\n").suffix(2).joined(separator: "; ")
      throw Failed(
        description:
          "exit \(outcome.code), \(last), of: \(script)\n\(outcome.output)\(outcome.errors)")
    }
    return outcome.output.hasSuffix("\n") ? String(outcome.output.dropLast()) : outcome.output
  }

  /// Runs a script as another user than the one who mounted.
  package func outcome(as person: Person, _ script: String) throws -> Command.Outcome {
    try run(person, script)
  }

  /// Runs a script that may fail.
  package func outcome(_ script: String) throws -> Command.Outcome { try run(person, script) }

  /// Runs a Python program, which finds the variables of scripts as `M`, `S` and `W`.
  @discardableResult
  package func python(_ program: String) throws -> String {
    let prelude = """
      import os, sys, errno, stat, time, hashlib, subprocess, ctypes, mmap, fcntl, random
      \(Waiting.python)
      M, S, W = (os.environ[name] for name in "MSW")
      libc = ctypes.CDLL(None, use_errno=True)
      def fails(code, call, *arguments):
          try: call(*arguments)
          except OSError as error:
              assert error.errno == code, (errno.errorcode[error.errno], arguments)
          else: raise AssertionError(("did not fail", arguments))
      RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
      def renameat2(old, new, flags):
          if libc.renameat2(-100, os.fsencode(old), -100, os.fsencode(new), flags) != 0:
              code = ctypes.get_errno()
              raise OSError(code, os.strerror(code))
      def put(path, content=b"content"):
          with open(path, "wb") as file: file.write(content)
      def get(path):
          with open(path, "rb") as file: return file.read()

      """
    let path = scratch.path("program-\(UUID().uuidString).py")
    try (prelude + program + "\n").write(toFile: path, atomically: false, encoding: .utf8)
    return try sh("/usr/bin/python3 \(path)")
  }

  /// Lets removed files go at once.
  package func keepNoDeletedFiles(at point: String? = nil, password: String = "$P") throws {
    try sh(
      "albumfs history --off --password-file \(password) '\(point ?? mountPoint)' > /dev/null")
  }

  /// Waits until everything is on disk and every thumbnail is made.
  package func sync() throws { try sh("albumfs sync -q --timeout 600 $M") }

  package func status(_ point: String? = nil) throws -> Status {
    let json = try sh("albumfs status --json '\(point ?? mountPoint)'")
    return try JSONDecoder().decode(Status.self, from: Data(json.utf8))
  }

  /// Writes a file of the person into the directory to work in.
  @discardableResult
  package func write(_ content: Data, _ name: String) throws -> String {
    let path = work + "/" + name
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try content.write(to: URL(fileURLWithPath: path))
    try giveAway()
    return path
  }

  /// Reads a file in the directory to work in.
  package func read(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: work + "/" + name)))
  }

  /// Writes a password into a file beside the directory to work in.
  package func setPassword(_ password: String, _ name: String) throws {
    try scratch.write(name, password + "\n")
    try giveAway()
  }

  private func run(_ person: Person, _ script: String) throws -> Command.Outcome {
    var words = ["timeout", "--kill-after=10", "\(MountedStore.patience)", "bash"]
    if person == .ordinary && geteuid() == 0 {
      words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + words
    }
    // Foundation waits for every process that holds the descriptors, background jobs too.
    let guarded = """
      set -Eeuo pipefail
      for fd in /proc/$$/fd/*; do
        if [ "${fd##*/}" -gt 2 ]; then eval "exec ${fd##*/}>&-"; fi
      done
      trap 'echo "failed: $BASH_COMMAND" >&2' ERR
      \(Waiting.shell)
      \(script)
      """
    var command = Command("/usr/bin/env", words + ["-c", guarded])
    command.directory = "/"
    command.environment = [
      "M": mountPoint, "S": store, "W": work, "P": scratch.path("password"),
      "PATH": programs + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "HOME": work, "LC_ALL": "C.UTF-8", "TZ": "UTC",
      "ALBUMFS_TESTS_FORBID_CHAFF": hasChaff ? "no" : "yes", "ALBUMFS_TESTS_DELAYS": delays,
    ]
    return try command.run()
  }

  // MARK: The ordinary person

  /// The directory in which the person can run the built programs: the build directory, or one with copies.
  private static func programs(for person: Person, in scratch: ScratchDirectory) throws -> String {
    let built = Command.builtPath("albumfs")
    let directory = (built as NSString).deletingLastPathComponent
    guard person == .ordinary, geteuid() == 0,
      try Command("/usr/bin/setpriv", ["--reuid=65534", "--clear-groups", "test", "-x", built])
        .run().code != 0
    else { return directory }
    let copies = scratch.url.appendingPathComponent("bin")
    try FileManager.default.createDirectory(at: copies, withIntermediateDirectories: false)
    for name in ["albumfs", "albumfs-thumbnailer", "albumfs-fetch", "albumfs-remote"] {
      try FileManager.default.copyItem(
        atPath: directory + "/" + name, toPath: copies.appendingPathComponent(name).path)
    }
    return copies.path
  }

  /// Gives the scratch directory to the person.
  private func giveAway() throws {
    guard person == .ordinary, geteuid() == 0 else { return }
    for path in [scratch.path, work] + Self.below(work) + Self.files(in: scratch.path) {
      if unsafe lchown(path, 65534, 65534) != 0 {
        throw Failed(description: "cannot give \(path) away: \(errno)")
      }
    }
    for name in ["mnt", "mnt2"] where !isMounted(scratch.path(name)) {
      unsafe _ = lchown(scratch.path(name), 65534, 65534)
    }
  }

  private static func below(_ path: String) -> [String] {
    FileManager.default.subpaths(atPath: path)?.map { path + "/" + $0 } ?? []
  }

  private static func files(in path: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return names.filter { $0.hasPrefix("password") }.map { path + "/" + $0 }
  }
}
