import AlbumModel
import ArgumentParser
import ControlProtocol
import Glibc
import Posix

struct Browse: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run a file manager or viewer that keeps its caches in the space.",
    discussion: """
      Runs the default file manager, or COMMAND, with its directories for caches, data, state and temporary \
      files in .albumfs-browse at the root of the space, and in a D-Bus session of its own where \
      dbus-run-session is installed. Then it says what stays outside. Its exit code is the program's.

        albumfs browse ~/Album
        albumfs browse ~/Album -- eog ~/Album/Trip/Photo/IMG_0001.jpg
      """)

  @Argument(
    help: "The mount point, or a directory below it. \(DefaultMountPoint.help)",
    completion: .directory)
  var mountpoint: String?

  @Argument(parsing: .postTerminator, help: "A program and its arguments, after --.")
  var command: [String] = []

  @OptionGroup var output: OutputOptions

  func run() throws {
    let (mount, inside) = try MountPath.find(DefaultMountPoint.unless(given: mountpoint))
    let folder = try BrowseFolder.make(in: mount)
    let shown = inside.isEmpty ? mount.mountPoint : "\(mount.mountPoint)/\(inside)"
    let words = try command.isEmpty ? FileManagerChoice.command(showing: shown) : command
    let code = try run(words, in: folder)
    try TraceLook.report(mount.mountPoint, cleaning: false, output)
    Glibc.exit(code)
  }

  private func run(_ words: [String], in folder: String) throws(Failure) -> Int32 {
    guard Subprocess.find(words[0]) != nil || PathCalls.isExecutable(words[0]) else {
      throw Failure(.usage, "\(words[0]) is not a program that can be run.")
    }
    let session = BrowseSession()
    defer { session.endServices() }
    let environment = BrowseFolder.environment(PathCalls.environment, folder) + [session.mark]
    var runner: [String] = []
    if let found = Subprocess.find("dbus-run-session") {
      runner = [found, "--"]
    } else {
      output.say(
        "dbus-run-session is not installed (package dbus-daemon): a program that runs already may show the "
          + "space in its old process, and leave traces.")
    }
    do throws(Errno) {
      return try Subprocess.wait(try Subprocess.start(runner + words, environment: environment))
    } catch {
      throw Failure(.other, "\(words[0]) cannot be run: \(error)")
    }
  }
}

/// The directory in the space in which programs keep their files.
enum BrowseFolder {
  /// Begins with a dot, so it is no album and gets no thumbnails.
  private static let name = FileName(literal: ".albumfs-browse")

  /// Returns its path; creates what is missing.
  static func make(in mount: MountEntry) throws(Failure) -> String {
    let path = "\(mount.mountPoint)/\(name.display)"
    do throws(Errno) {
      try require(path)
      // Nothing in the space may lead the program's files outside.
      let folder = try OwnedDirectory(
        name, in: OwnedDirectory(path: mount.mountPoint, user: geteuid()))
      for part in ["cache", "data", "state", "tmp"] {
        try require("\(path)/\(part)")
        _ = try OwnedDirectory(FileName(known: Array(part.utf8)), in: folder)
      }
      return path
    } catch {
      throw Failure(
        error == .readOnly ? .mountPoint : .other,
        "\(path), where programs would keep their files, cannot be used: \(error).")
    }
  }

  private static func require(_ path: String) throws(Errno) {
    do throws(Errno) { try PathCalls.makePrivateDirectory(path) } catch {
      if error != .exists { throw error }
    }
  }

  /// The variables of a program whose files go into the folder. Themes and types of files are found in the
  /// directories that it would otherwise use.
  static func environment(_ current: [String], _ folder: String) -> [String] {
    let dataDirectories = BaseDirectory.dataSearchPath { name in
      current.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
    }
    let own = [
      ("XDG_CACHE_HOME", folder + "/cache"), ("XDG_DATA_HOME", folder + "/data"),
      ("XDG_STATE_HOME", folder + "/state"), ("TMPDIR", folder + "/tmp"),
      ("XDG_DATA_DIRS", dataDirectories.joined(separator: ":")),
      // The second gvfsd of a user cannot mount its own view of the network.
      ("GVFS_DISABLE_FUSE", "1"),
    ]
    let kept = current.filter { entry in !own.contains { entry.hasPrefix($0.0 + "=") } }
    return kept + own.map { "\($0.0)=\($0.1)" }
  }
}
