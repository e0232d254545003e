import AlbumStore
import ArgumentParser
import ControlProtocol
import Posix

/// Looks whether the file system of a store responds, before a command uses the store itself. A process that
/// waits in the kernel for a silent server cannot be ended, by no signal. So another process looks: this one
/// waits for it, says so, and ends by Ctrl-C or after a minute.
enum StoreReach {
  /// `typed` is the path of a store. Returns at once for one on a disk of this machine, or in a bucket.
  static func require(_ typed: String) throws(Failure) {
    guard let mount = network(of: typed), let looking = try? Reach.start(typed),
      let process = ProcessHandle(looking)
    else { return }
    let begin = MonotonicTime.now
    var wasSaid = false
    while !process.waitForEnd(atMost: 200) {
      let waited = MonotonicTime.now - begin
      if waited >= Outages.patience { throw failure(mount) }
      if waited < Outages.silence || wasSaid { continue }
      wasSaid = true
      Terminal.complain(
        "\(mount.mountPoint) (\(mount.type)), where the store lies, does not respond; waiting \(Outages.patience) "
          + "at most")
    }
    _ = try? Subprocess.wait(looking)
  }

  private static func failure(_ mount: MountEntry) -> Failure {
    Failure(
      .timedOut,
      "\(mount.mountPoint) (\(mount.type)), where the store lies, does not respond. Nothing was done. Try again when "
        + "its server is back.")
  }

  /// The file system of other machines that a path lies in, from the kernel's table alone.
  private static func network(of typed: String) -> MountEntry? {
    if typed.hasPrefix("s3:") { return nil }
    let path = typed.hasPrefix("/") ? typed : "\(PathCalls.currentDirectory ?? "")/\(typed)"
    guard let mount = try? MountTable.current().mount(holding: path), !mount.isSpace,
      !StorageKind(named: mount.type).isLocal
    else { return nil }
    return mount
  }
}

/// Ends when the file system of a store has responded. Only albumfs starts it.
struct Reach: ParsableCommand {
  static let name = "reach"
  static let configuration = CommandConfiguration(commandName: name, shouldDisplay: false)

  @Argument(help: "The store's directory.")
  var store: String

  /// Makes calls that no memory of the kernel replies to.
  func run() {
    guard let directory = try? PosixDirectory(path: store) else { return }
    _ = try? directory.capacity()
    _ = try? directory.open(StorePath.configuration, .read).bytes(at: 0, count: 1)
  }

  fileprivate static func start(_ store: String) throws(Errno) -> Int32 {
    let silent = [0, 1, 2].map { Subprocess.Redirection($0, -1) }
    return try Subprocess.start(["albumfs", name, store], program: "/proc/self/exe", silent)
  }
}
