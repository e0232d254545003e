import ArgumentParser
import ControlProtocol
import Glibc
import Posix

struct Umount: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Unmount a space; returns when everything is on disk, or in the bucket.",
    discussion: """
      Waits until the daemon has written everything, or sent it to the store's bucket, and ended. If it \
      could not write everything, umount says why and exits with the matching code. If files are still \
      open in the mount, umount names the programs that have them open, and unmounts nothing. It also clears \
      the mount point of a daemon that was killed.

        albumfs umount ~/Album
        albumfs umount --all
      """)

  @OptionGroup var selection: MountSelection

  @Flag(
    name: [.customShort("z"), .long],
    help:
      "Remove the mount from the tree at once; it ends when its last file is closed. Does not wait."
  )
  var lazy = false

  @Flag(
    help: "Then remove what other programs keep about the mount, as `albumfs traces --clean` does.")
  var cleanTraces = false

  @OptionGroup var output: OutputOptions

  func run() throws {
    let mounts = try selection.mounts()
    var failure: Failure?
    for mount in mounts {
      do throws(Failure) {
        try OrderlyUnmount(mount, output).run(lazy: lazy)
        try lookForTraces(of: mount)
      } catch {
        if !selection.all { throw error }
        // Another process unmounted it in the meantime.
        if error.kind == .noSuchMount { continue }
        Terminal.complain(error.message)
        let isUnmounted = error.kind == .tracesStay
        if isUnmounted, failure != nil { continue }
        failure = Failure(
          error.kind, "Not everything was \(isUnmounted ? "removed" : "unmounted").")
      }
    }
    if let failure { throw failure }
  }

  /// A lazy unmount leaves programs at work, which go on to write their lists.
  private func lookForTraces(of mount: MountEntry) throws(Failure) {
    if cleanTraces || mount.user == geteuid() && !lazy {
      try TraceLook.report(mount.mountPoint, cleaning: cleanTraces, output)
    }
  }
}
