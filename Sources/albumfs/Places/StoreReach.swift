import AlbumStore
import ArgumentParser
import ControlProtocol
import Posix

/// The stores of a command that lie on other machines, whose servers may be silent. A process that waits in
/// the kernel for a silent server cannot be ended, by no signal. So other processes make the calls that may
/// wait so: this one can say what is waited for, and end.
struct DistantStores {
  private let paths: [String]
  private let mount: MountEntry

  /// `typed` are the paths of stores. nil if all are on disks of this machine, or in buckets.
  init?(_ typed: [String]) {
    let distant = typed.compactMap { path in DistantStores.network(of: path).map { (path, $0) } }
    guard let first = distant.first else { return nil }
    (paths, mount) = (distant.map(\.0), first.1)
  }

  /// The begin of a sentence about silent servers.
  var silence: String {
    "\(mount.mountPoint) (\(mount.type)), where the store lies, does not respond"
  }

  /// Returns when the stores respond, and throws if they do not within a minute.
  func requireReply() throws(Failure) {
    guard let look = look() else { return }
    var wasSaid = false
    while !look.isReplied(within: 200) {
      if look.age >= Outages.patience {
        throw Failure(
          .timedOut, "\(silence). Nothing was done. Try again when its server is back.")
      }
      if look.age < Outages.silence || wasSaid { continue }
      wasSaid = true
      Terminal.complain("\(silence); waiting \(Outages.patience) at most")
    }
    look.end()
  }

  /// Begins to look whether the stores respond. nil if no process can be started.
  func look() -> Look? {
    let silent = [0, 1, 2].map { Subprocess.Redirection($0, -1) }
    let started = try? Subprocess.start(
      ["albumfs", Reach.name] + paths, program: "/proc/self/exe", silent)
    guard let started, let process = ProcessHandle(started) else { return nil }
    return Look(process: process, number: started)
  }

  /// A process that ends when the stores have responded.
  struct Look: ~Copyable {
    fileprivate let process: ProcessHandle
    fileprivate let number: Int32
    private let begin = MonotonicTime.now

    fileprivate init(process: consuming ProcessHandle, number: Int32) {
      self.process = process
      self.number = number
    }

    var age: Duration { MonotonicTime.now - begin }

    /// Waits for so many milliseconds at most.
    func isReplied(within milliseconds: Int32) -> Bool {
      process.waitForEnd(atMost: milliseconds)
    }

    /// Call it when the stores have replied.
    consuming func end() { _ = try? Subprocess.wait(number) }
  }

  /// Returns when the file system of a store has responded: makes calls that no memory of the kernel replies
  /// to. They may wait for ever.
  static func ask(_ store: String) {
    guard let directory = try? PosixDirectory(path: store) else { return }
    _ = try? directory.capacity()
    _ = try? directory.open(StorePath.configuration, .read).bytes(at: 0, count: 1)
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

/// Ends when the file systems of stores have responded. Only albumfs starts it.
struct Reach: ParsableCommand {
  static let name = "reach"
  static let configuration = CommandConfiguration(commandName: name, shouldDisplay: false)

  @Argument(help: "The stores' directories.")
  var stores: [String]

  func run() { stores.forEach(DistantStores.ask) }
}
