import ArgumentParser
import ControlProtocol
import Posix

struct Lock: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Unmount at once, even spaces that are in use.",
    discussion: """
      Takes a space out of the tree, also one that is in use. Nobody can open anything in it any more: \
      neither a program that works in it, nor a container or another mount namespace that has it mounted \
      too. Files that are open stay usable; the space and its keys go when the last one is closed. lock \
      names the programs that keep it open, and exits with 46.

        albumfs lock ~/Album
        albumfs lock --all
      """)

  @OptionGroup var selection: MountSelection
  @OptionGroup var output: OutputOptions

  /// Locks all spaces before it waits for any of them.
  func run() throws {
    var failures: [Failure] = []
    var locked: [LockedSpace] = []
    for mount in try selection.mounts() {
      do throws(Failure) {
        if let space = try OrderlyUnmount(mount, output).lock() {
          locked.append(space)
        } else {
          output.say("\(mount.mountPoint): its daemon was gone; the mount point is cleared.")
        }
      } catch {
        // Another process unmounted it in the meantime.
        if error.kind != .noSuchMount || !selection.all { failures.append(error) }
      }
    }
    for space in locked {
      do throws(Failure) { try space.waitForEnd(output) } catch { failures.append(error) }
    }
    if let first = failures.first {
      throw Failure(first.kind, failures.map(\.message).joined(separator: "\n"))
    }
  }
}
