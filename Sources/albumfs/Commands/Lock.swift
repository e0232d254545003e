import ArgumentParser
import ControlProtocol
import Posix

struct Lock: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Unmount at once, also spaces that are in use.",
    discussion: """
      Unmounts like `albumfs umount`, and takes a space that is in use out of the tree. Nobody can open \
      anything in it any more, nor can a program that works in it. Files that are open stay usable; the \
      space and its keys go when the last one is closed. lock names the programs that keep it open, and \
      exits with 46.

        albumfs lock ~/Album
        albumfs lock --all
      """)

  @OptionGroup var selection: MountSelection
  @OptionGroup var output: OutputOptions

  func run() throws {
    var failure: Failure?
    for mount in try selection.mounts() {
      do throws(Failure) { try lock(mount) } catch {
        if error.kind == .noSuchMount, selection.all { continue }
        failure = Failure(
          error.kind, [failure?.message, error.message].compactMap { $0 }.joined(separator: "\n"))
      }
    }
    if let failure { throw failure }
  }

  private func lock(_ mount: MountEntry) throws(Failure) {
    let unmount = OrderlyUnmount(mount, output)
    do throws(Failure) { try unmount.run(lazy: false) } catch {
      // A daemon that hangs must not keep the space in sight.
      if error.kind != .busy, error.kind != .unreachable || !mount.isOurs { throw error }
      let users = BusyProcesses.of(mount, filesOnly: true)
      if try unmount.lock() { return output.say("\(mount.mountPoint) is locked.") }
      let lines = users.map { "  \($0.line)" }
      throw Failure(
        .busy,
        (["\(mount.mountPoint) is locked, and stays open until these programs close it:"] + lines)
          .joined(separator: "\n"))
    }
  }
}
