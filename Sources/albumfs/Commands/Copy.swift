import AlbumStore
import ArgumentParser
import ControlProtocol
import ObjectStores
import Posix

struct Copy: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy a whole store into an object storage, out of one, or into another directory.",
    usage: "albumfs copy [<options>] <store> <target>",
    discussion: """
      STORE and TARGET are directories, or s3://bucket/prefix. A store is copied as it is, encrypted: no \
      password is needed. The bucket must exist. Credentials and the server come from where other S3 tools \
      take them.

      The copy is complete, and a store, when the command ends with exit code 0. An interrupted copy \
      continues where it was when you run the same command again. Each file is compared: by its SHA-256, \
      which the server checks, or by reading it back from a server that does not check, and from a \
      directory. A target that holds anything else is never overwritten.

      With --update, a copy that is there becomes the same as the store: what has changed is copied, and \
      segments that the store no longer has are removed. A store in use can be copied; its files are then \
      looked at twice. A copy in a bucket to which a machine writes is refused, after a look of 40 seconds.

        albumfs copy ~/Album.store s3://photos/album --endpoint https://s3.example.org
        albumfs copy --update ~/Album.store s3://photos/album
        albumfs copy s3://photos/album ~/Restored.store
      """)

  @Argument(help: "The store: a directory, or s3://bucket/prefix.", completion: .directory)
  var store: String

  @Argument(
    help: "What becomes the copy: a directory, or s3://bucket/prefix.", completion: .directory)
  var target: String

  @Flag(help: "Make a copy that is there the same as the store.")
  var update = false

  @Flag(help: "Read every file of the copy back and compare it, whatever the server says.")
  var verify = false

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var s3: S3Options

  @OptionGroup var output: OutputOptions

  private struct Description: Encodable {
    var version = 1
    var copied: Int
    var bytes: Int64
    var present: Int
    var removed: Int
    var readBack: Int
  }

  func run() throws {
    Interruption.collect()
    let isStopped: @Sendable () -> Bool = { Interruption.wasAsked }
    let (from, to) = (try StorePlace(store), try StorePlace(target))
    try Copy.requireApart(from, to)
    let source = try from.existing(s3, isStopped)
    let room = try to.room(s3, isStopped)
    let bar = ProgressBar("Copying", isShown: !output.quiet)
    var options = StoreTransfer.Options()
    options.updates = update
    options.verifies = verify
    options.lanes = s3.connections
    options.isStopped = isStopped
    options.watchTime = SpaceOpenOptions.watchThere
    options.watches = { [output] in
      if !output.quiet {
        Terminal.transient("Looking whether another machine writes to \(room.place)")
      }
    }
    options.watch = { progress in
      let files = "\(progress.doneFiles) of \(counted(progress.files, "file"))"
      bar.show(progress.doneBytes, of: progress.bytes, files)
    }
    let report: StoreTransferReport
    do throws(StoreTransferError) {
      report = try StoreTransfer(from: source, to: room, options).run()
    } catch {
      bar.clear()
      throw Failure(error, from: source.place, to: room.place)
    }
    bar.clear()
    show(report)
  }

  private static func requireApart(_ from: StorePlace, _ to: StorePlace) throws(Failure) {
    switch (from, to) {
    case (.bucket(let one), .bucket(let other)) where one == other:
      throw Failure(.usage, "Both are \(one).")
    case (.directory(let one), .directory(let other)):
      if one == other { throw Failure(.usage, "Both are \(one).") }
      if "\(other)/".hasPrefix("\(one)/") || "\(one)/".hasPrefix("\(other)/") {
        throw Failure(.usage, "One of \(one) and \(other) lies in the other.")
      }
    default: break
    }
  }

  private func show(_ report: StoreTransferReport) {
    if json {
      Terminal.result(
        json: Description(
          copied: report.copied, bytes: report.copiedBytes, present: report.present,
          removed: report.removed, readBack: report.readBack))
      return
    }
    var parts = [
      "Copied \(counted(report.copied, "file")) (\(SizeArgument.readable(report.copiedBytes)))"
    ]
    if report.present > 0 { parts.append("\(report.present) were there already") }
    if report.removed > 0 { parts.append("\(report.removed) removed") }
    output.say(parts.joined(separator: ", ") + ".")
    output.detail("\(counted(report.readBack, "file")) read back and compared.")
  }
}
