import ArgumentParser
import ControlProtocol
import Posix

struct Adopt: RecoveryKeyCommand {
  static let configuration = CommandConfiguration(
    abstract: "Move files into the space that were written while it was not mounted.",
    discussion: """
      A program that writes into a mount point while nothing is mounted writes plain files, and mount then \
      refuses the directory. This command mounts the space over them and moves them in: it copies all of \
      them, syncs the space, compares, and then removes the originals. The space stays mounted. A name \
      that the space has already gets a number, as in "IMG_1 (2).jpg".

      The disk may still hold the bytes of the removed files in unused blocks.

        albumfs adopt ~/Album
        albumfs adopt ~/Album ~/Album.store
      """)

  @Argument(help: "The mount point that holds the files.", completion: .directory)
  var mountpoint: String

  @Argument(
    help: "The store's directory; by default the one that the settings name for this mount point.",
    completion: .directory)
  var store: String?

  @OptionGroup var password: PasswordOptions
  @OptionGroup var secret: RecoveryKeyOption
  @OptionGroup var output: OutputOptions

  func run() throws {
    ProcessSetup.protectMemory()
    let point = MountPath.resolve(mountpoint)
    let mount = try mountOptions()
    let plan = try MountPlan(store: try storePath(of: point), mountPoint: point)
    if let there = try MountPath.table().mount(at: point), there.isSpace, !MountLife.isDead(there) {
      throw Failure(
        .mountPoint,
        "A space is mounted on \(point), which covers the files. Unmount it first: "
          + "albumfs umount \(ShellWord.quoted(point))"
      )
    }
    let bare = try bareDirectory(point)
    try mount.completed(by: plan.options).mount(plan, coversFiles: true)
    // `mount` has closed a directory of the settings.
    let wasClosed = (try? bare.isClosed) ?? false
    try? bare.reopen()
    defer { if wasClosed { try? bare.close() } }
    var adoption = Adoption(from: bare.path, into: point)
    try adoption.run()
    try? bare.synchronize()
    try report(adoption)
  }

  private func bareDirectory(_ point: String) throws(Failure) -> HeldDirectory {
    do throws(Errno) { return try HeldDirectory(point) } catch {
      throw Failure(.mountPoint, "\(mountpoint) cannot be opened: \(error).")
    }
  }

  /// A mount with the options of this command.
  private func mountOptions() throws(Failure) -> Mount {
    do {
      var mount = try Mount.parse([])
      (mount.password, mount.secret, mount.output) = (password, secret, output)
      return mount
    } catch {
      throw Failure(.usage, Mount.message(for: error))
    }
  }

  private func storePath(of point: String) throws(Failure) -> String {
    if let store { return store }
    if let entry = try UserConfiguration.read().entry(at: point) { return entry.store }
    throw Failure(
      .usage,
      "No settings name a store for \(point). Use: "
        + "albumfs adopt \(ShellWord.quoted(mountpoint)) STORE")
  }

  private func report(_ adoption: Adoption) throws(Failure) {
    for (path, name) in adoption.renamed {
      output.say("\(path.printable) is \(name.printable) in the space.")
    }
    for path in adoption.withoutList {
      output.say(
        "\(path.printable) has lost its access control list: mount with -o acl to keep such lists.")
    }
    output.say("Moved \(counted(adoption.moved, "file")) into the space.")
    if adoption.left.isEmpty { return }
    let lines = adoption.left.map { "  \($0.path.printable): \($0.reason)" }
    throw Failure(
      .leftOutside,
      (["These stay outside of the space, NOT encrypted:"] + lines).joined(separator: "\n"))
  }
}
