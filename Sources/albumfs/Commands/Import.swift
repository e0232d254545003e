import ArgumentParser
import ControlProtocol
import Fetching
import Posix

struct Import: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy photos into an album of a mounted space.",
    usage: """
      albumfs import [<options>] <source> ... <album>
      albumfs import [<options>] --url <url> ... <album>
      """,
    discussion: """
      The content of a SOURCE folder goes into ALBUM, which is made if it is missing; its folders become \
      albums in it. A camera's DCIM and its numbered folders (100CANON) become none. Files keep their names \
      byte for byte, their modification times, permissions and attributes. A zip file that you name is \
      unpacked like a folder; --move refuses it.

      A picture or video whose content is in its album already is skipped, whatever its name is; any other \
      file, such as a sidecar, is skipped only if the album has it under its name. Another content of the \
      same name gets a number, as in "IMG_1 (2).jpg". What is hidden is skipped, symbolic links are not \
      followed, and stores of albumfs are refused. What systems keep for themselves (@eaDir, $RECYCLE.BIN, \
      Thumbs.db and the like) is left out and named.

      A photo, its sidecars, the film of its Live Photo, the JPEG beside its raw picture and its edited \
      twin are one group: they go by the date of the photo, and get the same number.

      The parts of a Google Takeout, zip files or folders, count as one source. What its JSON files say of a \
      photo becomes the photo's time and extended attributes: date, caption, place, people, favourite.

      Interrupt it at any time, and run it again to continue.

      --url and --url-list load pictures and videos by http or https, in the process albumfs-fetch. Their \
      name is that of Content-Disposition or of the address, with the ending of their content; their time is \
      the server's. What is neither picture nor video is named and not kept. A file that was interrupted \
      goes on where it was, if the server can do that. Everybody on this machine can see what --url says \
      while the command runs; nobody sees a list.

        albumfs import /media/card/DCIM ~/Album/Trip
        albumfs import --by-date --move /media/card ~/Album
        albumfs import --without-json ~/takeout-*.zip ~/Album
        albumfs import --url-list - ~/Album/Trip < addresses.txt
      """)

  @Argument(
    help: ArgumentHelp(
      "Files, folders and zip files, and last the album of a mounted space.",
      valueName: "source … album"),
    completion: .file())
  var paths: [String]

  @Option(
    name: .customLong("url"),
    help: ArgumentHelp(
      "Load this picture or video. May be given several times.", valueName: "url"))
  var typedURLs: [String] = []

  @Option(
    help: ArgumentHelp(
      "Load the addresses in this file, one a line; - reads them from standard input.",
      valueName: "file"),
    completion: .file())
  var urlList: String?

  @Option(
    help: ArgumentHelp(
      "Load no file that is larger. The default is 8G.", valueName: "size"))
  var urlLimit: SizeArgument?

  @Flag(
    name: .customLong("move"),
    help: """
      Remove each original when its copy is on disk, was read back and is the same. Folders stay, and what \
      the album had already under another name.
      """)
  var isMove = false

  @Flag(
    help: """
      Put each file into an album YYYY-MM-DD in ALBUM: the day of capture, or else of its modification. \
      ALBUM may be the mount point.
      """)
  var byDate = false

  @Option(
    name: .customLong("exclude"),
    help: ArgumentHelp(
      """
      Leave out what this pattern matches, such as '*.tmp' or 'Old/': the name of a file or folder, or, \
      with a slash in it, the path below the source. May be given several times.
      """, valueName: "pattern"))
  var typedExclusions: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      The zone for films and sidecars that state UTC alone, and for times of files: a name such as \
      Europe/Berlin, or +02:00.
      """, valueName: "zone"))
  var timeZone: TimeZoneArgument?

  @Option(
    name: .customLong("name"),
    help: ArgumentHelp(
      """
      Give photos and films names by this pattern, such as '{date}_{camera}_{counter}'. It may have {date}, \
      {time}, {year}, {month}, {day}, {camera}, {name} and {counter}.
      """, valueName: "pattern"))
  var typedTemplate: String?

  @Flag(
    name: .customLong("without-json"),
    help: "Read the JSON files of Google Takeout, and leave them out.")
  var leavesOutJSON = false

  @Flag(help: "Copy nothing; print what would be copied.")
  var dryRun = false

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var output: OutputOptions

  func validate() throws {
    let loads = !typedURLs.isEmpty || urlList != nil
    if paths.count < (loads ? 1 : 2) {
      throw ValidationError("Give files, folders or --url, and an album.")
    }
    if loads, isMove || dryRun || typedTemplate != nil {
      throw ValidationError("--url and --url-list take neither --move, --dry-run nor --name.")
    }
    do throws(NameTemplate.Fault) { _ = try template } catch {
      throw ValidationError("--name cannot be used: \(error.reason).")
    }
    if let bad = typedExclusions.first(where: { ExclusionPattern($0) == nil }) {
      throw ValidationError("--exclude \(bad) names nothing. Give a pattern such as '*.tmp'.")
    }
    if urlLimit?.bytes == 0 { throw ValidationError("--url-limit takes a size above 0.") }
  }

  private var template: NameTemplate? {
    get throws(NameTemplate.Fault) {
      guard let typedTemplate else { return nil }
      return try NameTemplate(typedTemplate)
    }
  }

  func run() throws {
    let urls = try urls()
    let album = paths[paths.count - 1]
    let (mount, inside) = try MountPath.find(
      album, not: paths[0], "The album comes last: albumfs import SOURCE ALBUM")
    let place = try Import.place(mount, inside, album)
    Interruption.collect()
    ProcessSignals.useUnicodeNames()
    if let timeZone { SystemClock.setZone(timeZone.variable) }
    var importer = Importer(
      into: place.path,
      Importer.Options(
        isMove: isMove, byDate: byDate, isDryRun: dryRun, topIsAlbum: !place.isTop,
        urls: urls, urlLimit: urlLimit?.bytes ?? Import.usualLimit,
        excluded: typedExclusions.compactMap(ExclusionPattern.init),
        hasTimeZone: timeZone != nil, leavesOutJSON: leavesOutJSON,
        template: try? template),
      Importer.Surroundings(
        synchronize: { () throws(Failure) in try Barrier.wait(for: mount) },
        isStopped: { Interruption.wasAsked },
        showsProgress: !output.quiet,
        room: (try? PosixDirectory(path: mount.mountPoint).capacity())?.availableBytes,
        say: { output.say($0) }, device: (try? PlainEntry(mount.mountPoint))?.file.device,
        fetch: HelperProgram.find("albumfs-fetch")))
    var failure: Failure?
    do throws(Failure) { try importer.run(paths.dropLast().map { PlainPath(argument: $0) }) } catch
    { failure = error }
    try finish(importer.report, failure)
  }

  /// The largest file that an address may bring, in bytes.
  private static let usualLimit: Int64 = 8 << 30
  /// The longest list, in bytes.
  private static let listLimit = 16 << 20

  private func urls() throws(Failure) -> [RemoteURL] {
    var lines = typedURLs.joined(separator: "\n")
    if let urlList {
      let bytes: [UInt8]
      do throws(Errno) {
        bytes = try readWholeFile(urlList == "-" ? "/dev/stdin" : MountPath.resolve(urlList))
      } catch {
        throw Failure(.usage, "\(urlList) cannot be read: \(error)")
      }
      if bytes.count > Import.listLimit {
        throw Failure(.usage, "\(urlList) is too long for a list.")
      }
      lines += "\n" + String(decoding: bytes, as: UTF8.self)
    }
    let (urls, bad) = RemoteURLList.read(lines)
    if let first = bad.first {
      throw Failure(.usage, "\(first.printable) is no address: it begins with http:// or https://.")
    }
    if urls.count > RemoteURLList.limit {
      throw Failure(.usage, "A list may have \(RemoteURLList.limit) addresses.")
    }
    return urls
  }

  /// The path of the album that the user means. `Photo` means its album.
  private static func place(
    _ mount: MountEntry, _ inside: String, _ typed: String
  ) throws(Failure) -> (path: String, isTop: Bool) {
    if mount.readOnly { throw Failure(.other, "The space on \(mount.mountPoint) is read-only.") }
    var names = inside.split(separator: "/").map(String.init)
    // The top of a space may have albums of these names.
    if names.count > 1, names.last == "Photo" { names.removeLast() }
    let isPart: (String) -> Bool = { $0 == "Photo" || $0 == "Thumb" }
    if names.contains(where: { $0.hasPrefix(".") }) || names.dropFirst().contains(where: isPart) {
      throw Failure(.usage, "\(typed) is no album. Give an album, or a new name for one.")
    }
    let path = ([mount.mountPoint] + names).joined(separator: "/")
    if let kind = (try? PlainEntry(path))?.kind, kind != .directory {
      throw Failure(.usage, "\(typed) is a file. Give an album, or a new name for one.")
    }
    return (path, names.isEmpty)
  }

  private func finish(_ report: ImportReport, _ failure: Failure?) throws(Failure) {
    if let failure, failure.kind == .usage { throw failure }
    if json {
      Terminal.result(json: report)
    } else {
      for copy in report.plan ?? [] {
        Terminal.result("\(copy.path.printable) -> \(copy.target.printable)")
      }
      if !dryRun {
        for file in report.renamed {
          output.detail("\(file.path.printable) is \(file.name.printable) in the album.")
        }
        for left in report.leftOut { output.detail("\(left.path.printable) was left out.") }
        for file in report.otherNames {
          output.detail(
            "\(file.path.printable) was in the album already, as \(file.name.printable).")
        }
      }
      output.say(summary(report))
    }
    if let failure {
      throw Failure(failure.kind, ([failure.message] + report.errors.lines).joined(separator: "\n"))
    }
    if report.errors.isEmpty { return }
    let head = "\(counted(report.errors.count, "problem")), everything else is imported:"
    throw Failure(.notCopied, ([head] + report.errors.lines).joined(separator: "\n"))
  }

  /// `Imported 3 files (4.1 MiB); 2 were there already; removed 5 originals.`
  private func summary(_ report: ImportReport) -> String {
    let others = report.otherNames.count
    let aside = others > 0 ? " (\(others) under another name)" : ""
    var parts = [
      "\(dryRun ? "Would import" : "Imported") \(counted(report.imported, "file")) "
        + "(\(SizeArgument.readable(report.bytes)))"
    ]
    if report.duplicates > 0 { parts.append("\(report.duplicates) were there already\(aside)") }
    if !report.renamed.isEmpty {
      let reason = typedTemplate == nil ? ", because theirs was taken" : ""
      parts.append("\(report.renamed.count) got another name\(reason)")
    }
    if report.hidden > 0 { parts.append("skipped \(counted(report.hidden, "hidden file"))") }
    parts += Import.omissions(report.leftOut)
    if isMove, !dryRun { parts.append("removed \(counted(report.removed, "original"))") }
    return parts.joined(separator: "; ") + "."
  }
}

extension Import {
  /// Names what was left out, at most some names of each kind.
  private static func omissions(_ left: [OmissionReport.Named]) -> [String] {
    var parts: [String] = []
    let leftovers = left.filter { $0.pattern == nil }
    if !leftovers.isEmpty {
      let names = Set(leftovers.map { $0.path.split(separator: "/").last.map(String.init) ?? "" })
      let shown = names.sorted().prefix(4).joined(separator: ", ")
      let rest = names.count > 4 ? " …" : ""
      parts.append(
        "left out \(leftovers.count) that other programs keep for themselves "
          + "(\(shown.printable)\(rest))")
    }
    let json = left.count { $0.pattern == Importer.withoutJSON }
    if json > 0 { parts.append("left out \(counted(json, "JSON file"))") }
    let excluded = left.count - leftovers.count - json
    if excluded > 0 { parts.append("excluded \(excluded)") }
    return parts
  }
}

/// Waits until everything that was closed in a mount is on disk, whatever is left to do for thumbnails.
enum Barrier {
  static func wait(for mount: MountEntry) throws(Failure) {
    // Only the user who mounted and root may talk to the daemon. Everybody may sync a directory.
    let isDone = mount.isOurs ? try askDaemon(of: mount) : false
    if !isDone {
      do throws(Errno) { try PlainFiles.synchronize(mount.mountPoint) } catch {
        throw Failure(ofSpace: error)
          ?? Failure(.other, "The space on \(mount.mountPoint) cannot be synced: \(error).")
      }
    }
    // Below an unmounted space, the same paths lead to plain files.
    if try MountPath.table().mount(at: mount.mountPoint)?.device != mount.device {
      throw Failure(.unreachable, "The space was unmounted. Mount it and run it again.")
    }
  }

  /// Returns false if the daemon is of an earlier release, which does not know the request.
  private static func askDaemon(of mount: MountEntry) throws(Failure) -> Bool {
    let reply = try ControlClient(mount).ask(.barrier)
    if case .failed(let failure) = reply, failure.kind == .unsupported { return false }
    _ = try reply.done()
    return true
  }
}
