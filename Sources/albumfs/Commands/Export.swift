import ArgumentParser
import ControlProtocol
import Posix

struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy the originals of albums into a folder or a zip file.",
    usage: """
      albumfs export [<options>] <album> ... <dest>
      albumfs export [<options>] <album> ... --zip <file>
      """,
    discussion: """
      Each ALBUM becomes a folder in DEST, with its photos in it and its albums as folders; thumbnails are \
      not copied. The mount point means all albums. Each copy is read back and compared. What is there \
      already with the same content is skipped, so you can interrupt it and run it again; another content of \
      the same name gets a number, as in "IMG_1 (2).jpg". A zip file begins anew each time.

      With --size, each picture is scaled down and upright, as JPEG, PNG or WebP without metadata. With \
      --without-metadata, originals of JPEG, PNG, WebP, GIF, HEIC and AVIF keep their pixels bit by bit, \
      their orientation and their colour profile, and lose EXIF, XMP, IPTC, places, comments, embedded \
      previews, and films and further pictures behind the picture. Names and modification times stay with \
      both. A file of which this cannot be done is named, is not exported, and the exit code is 51.

      The copies are NOT encrypted.

        albumfs export ~/Album/Trip /media/stick
        albumfs export ~/Album/Trip ~/Album/Garden --zip ~/photos.zip
        albumfs export --size 1600 ~/Album/Trip ~/to-send
      """)

  @Argument(
    help: ArgumentHelp(
      "Albums or files of a mounted space, and last, without --zip, the folder that gets them.",
      valueName: "album … dest"),
    completion: .directory)
  var paths: [String]

  @Option(
    help: ArgumentHelp(
      "Write one zip file, which must not exist, and no folder.", valueName: "file"),
    completion: .file())
  var zip: String?

  @Option(
    help: ArgumentHelp(
      "Scale pictures to a long edge of at most this many pixels, 64 to 2048.", valueName: "px"))
  var size: Int?

  @Flag(help: "Export originals without EXIF, XMP, IPTC, places and comments.")
  var withoutMetadata = false

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var output: OutputOptions

  func validate() throws {
    if zip == nil, paths.count < 2 {
      throw ValidationError("Give albums and a folder, or albums and --zip FILE.")
    }
    if let size, !ExportForm.edges.contains(size) {
      let edges = ExportForm.edges
      throw ValidationError("--size takes \(edges.lowerBound) to \(edges.upperBound) pixels.")
    }
  }

  /// Scaled pictures have no metadata anyway.
  private var form: ExportForm {
    if let size { return .scaled(edge: size) }
    return withoutMetadata ? .withoutMetadata : .original
  }

  func run() throws {
    var walk = ExportWalk()
    let albums = zip == nil ? paths.dropLast() : paths[...]
    let target = zip ?? paths[paths.count - 1]
    for album in albums {
      let found = try MountPath.find(
        album, not: target, "The albums come first: albumfs export ALBUM FOLDER")
      try Export.requireOutside(target, found.mount)
      try walk.add(album)
    }
    output.say("What is exported is NOT encrypted.")
    Interruption.collect()
    let isStopped = { Interruption.wasAsked }
    var failure: Failure?
    let report: ExportReport
    if let zip {
      var exporter = ZipExporter(
        to: zip, form: form, showsProgress: !output.quiet, isStopped: isStopped)
      do throws(Failure) { try exporter.run(walk.walk) } catch { failure = error }
      report = exporter.report
    } else {
      let folder = try Export.folder(target)
      var exporter = Exporter(
        to: folder, form: form, showsProgress: !output.quiet, isStopped: isStopped)
      do throws(Failure) { try exporter.run(walk.walk) } catch { failure = error }
      report = exporter.report
    }
    try finish(report, failure)
  }

  private static func requireOutside(_ target: String, _ mount: MountEntry) throws(Failure) {
    let holder = try MountPath.table().space(holding: MountPath.resolve(target))
    if holder == mount {
      throw Failure(.usage, "\(target) lies in the space itself. Give a folder outside of it.")
    }
    if SourceWalk.store(holding: PlainPath(MountPath.resolve(target))) != nil {
      throw Failure(.usage, "\(target) lies in a store. Give a folder outside of it.")
    }
  }

  /// The folder for the copies, made if it is missing.
  private static func folder(_ typed: String) throws(Failure) -> String {
    let path = MountPath.resolve(typed)
    do throws(Errno) {
      do throws(Errno) { try PlainFiles.makeDirectory(path, permissions: 0o777) } catch {
        if error != .exists { throw error }
      }
      if try PlainEntry(path).kind != .directory { throw .notDirectory }
    } catch {
      throw Failure(.usage, "\(typed) cannot be made: \(error)")
    }
    return path
  }

  private func finish(_ report: ExportReport, _ failure: Failure?) throws(Failure) {
    if json {
      Terminal.result(json: report)
    } else {
      for file in report.renamed {
        output.detail("\(file.path.printable) is \(file.name.printable) at the target.")
      }
      output.say(summary(report))
    }
    if let failure {
      throw Failure(failure.kind, ([failure.message] + report.errors.lines).joined(separator: "\n"))
    }
    if report.errors.isEmpty { return }
    let head = "\(counted(report.errors.count, "problem")), everything else is exported:"
    throw Failure(.notCopied, ([head] + report.errors.lines).joined(separator: "\n"))
  }

  private func summary(_ report: ExportReport) -> String {
    var parts = [
      "Exported \(counted(report.exported, "file")) (\(SizeArgument.readable(report.bytes)))"
    ]
    if report.present > 0 { parts.append("\(report.present) were there already") }
    if !report.renamed.isEmpty {
      parts.append("\(report.renamed.count) got another name, because theirs was taken")
    }
    if report.hidden > 0 { parts.append("skipped \(counted(report.hidden, "hidden file"))") }
    return parts.joined(separator: "; ") + "."
  }
}
