import ArgumentParser
import ControlProtocol
import Posix

struct Lock: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Unmount at once, also spaces that are in use.",
    discussion: """
      Unmounts like `albumfs umount`, and takes a space that is in use out of the tree. Nobody can open \
      anything in it any more. Files that are open stay usable; the space and its keys go when the last \
      one is closed. lock names the programs that keep it open, and exits with 46.

        albumfs lock ~/Album
        albumfs lock --all
      """)

  @Argument(help: "The mount point.", completion: Completions.mounts)
  var mountpoint: String?

  @Flag(help: "All your mounts (as root: everybody's).")
  var all = false

  @OptionGroup var output: OutputOptions

  func validate() throws {
    if all == (mountpoint != nil) { throw ValidationError("Give one mount point, or --all.") }
  }

  func run() throws {
    var mounts = [MountEntry]()
    if let mountpoint {
      mounts = [try Umount.mount(at: mountpoint)]
    } else {
      mounts = try MountPath.table().spaces.reversed().filter(\.isOurs)
    }
    var failure: Failure?
    for mount in mounts {
      do throws(Failure) { try lock(mount) } catch {
        if error.kind == .noSuchMount, all { continue }
        failure = Failure(
          error.kind, [failure?.message, error.message].compactMap { $0 }.joined(separator: "\n"))
      }
    }
    if let failure { throw failure }
  }

  private func lock(_ mount: MountEntry) throws(Failure) {
    var command = Umount()
    command.output = output
    do throws(Failure) { try command.unmount(mount, lazy: false) } catch {
      // A daemon that hangs must not keep the space in sight.
      if error.kind != .busy, error.kind != .unreachable || !mount.isOurs { throw error }
      let users = BusyProcesses.of(mount)
      try command.unmount(mount, lazy: true)
      let lines = users.map { "  \(Terminal.printable($0.name)) (\($0.pid)) \($0.uses)" }
      throw Failure(
        .busy,
        (["\(mount.mountPoint) is locked, and stays open until these programs close it:"] + lines)
          .joined(separator: "\n"))
    }
  }
}
