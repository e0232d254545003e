import AlbumModel
import ControlProtocol
import Posix

// What follows the copying: what is on disk counts, and only then the originals of a move go.

extension Importer {
  /// Syncs the space, counts what is on disk, and removes the originals of a move.
  mutating func concludeArrivals() throws(Failure) {
    let arrivals = waiting
    (waiting, waitingBytes) = ([], 0)
    if arrivals.isEmpty { return }
    if !options.isDryRun { try surroundings.synchronize() }
    let first = report.files.count
    for arrival in arrivals { count(arrival) }
    if !options.isMove || options.isDryRun { return }
    for place in Importer.orderOfRemoval(arrivals) {
      let (index, arrival) = (first + place, arrivals[place])
      let start = meter.position
      // A zip file stays whole.
      if arrival.file.member == nil { try remove(arrival, index) }
      _ = meter.advance(start + arrival.file.entry.size - meter.position)
    }
  }

  /// The files of a group that follow go before the one that they follow: without it, what is left would be a
  /// group of its own for the next run.
  private static func orderOfRemoval(_ arrivals: [Arrival]) -> [Int] {
    var (order, start) = ([Int](), 0)
    for end in 1...arrivals.count where end == arrivals.count || !arrivals[end].follows {
      order += (start..<end).reversed()
      start = end
    }
    return order
  }

  private mutating func count(_ arrival: Arrival) {
    let original = arrival.file.path
    if let twin = arrival.twin {
      report.duplicates += 1
      if !twin.hasName, let name = twin.place.name {
        report.otherNames.append(RenamedFile(original, name))
      }
    } else {
      report.imported += 1
      report.bytes = report.bytes.saturatingAdd(arrival.file.entry.size)
    }
    if let name = arrival.newName { report.renamed.append(RenamedFile(original, name)) }
    let state = arrival.twin == nil ? ImportedFile.State.imported : .present
    report.files.append(ImportedFile(original, state, copy: arrival.copy))
  }

  /// `index` is that of the file in the report.
  private mutating func remove(_ arrival: Arrival, _ index: Int) throws(Failure) {
    // Somebody else may have removed it.
    guard let before = try? PlainEntry(arrival.file.path) else { return }
    report.files[index].removed = false
    do throws(PlainCopy.Fault) {
      if let reason = try obstacle(to: arrival, before) {
        return report.keepOriginal(index, arrival.file.path, reason)
      }
      report.removed += 1
      report.files[index].removed = true
    } catch {
      switch error {
      case .target(let errno):
        if let failure = Failure(ofSpace: errno) { throw failure }
        fallthrough
      default: report.keepOriginal(index, arrival.file.path, try error.reason())
      }
    }
  }

  /// Removes an original; returns why it stays, or nil.
  private mutating func obstacle(
    to arrival: Arrival, _ before: PlainEntry
  ) throws(PlainCopy.Fault) -> String? {
    let original = arrival.file.path
    let isSame = before.hasContent(of: arrival.file.entry)
    if !isSame { return "it was changed meanwhile, so it stays" }
    if let missing = arrival.missing?.name {
      return "\(missing.text), which it belongs to, is not in the album, so it stays"
    }
    guard let copy = try? PlainEntry(arrival.copy), copy.kind == .file, copy.file != before.file
    else { return "its copy is gone, so it stays" }
    if let twin = arrival.twin,
      let reason = loss(of: original, to: twin, modified: arrival.modified)
    {
      return reason
    }
    if try !PlainCopy.isEqual(original, arrival.copy, watch: { meter.advance($0) }) {
      return "its copy differs, so it stays"
    }
    // A writer may have been at work while the two were compared.
    guard let after = try? PlainEntry(original), after == before else {
      return "it was changed meanwhile, so it stays"
    }
    do throws(Errno) { try PathCalls.removeFile(original) } catch {
      return "it is in the album, but cannot be removed: \(error)"
    }
    return nil
  }

  /// What neither side would have any more if an original went whose content the album had before; nil if
  /// nothing.
  private func loss(
    of original: PlainPath, to twin: AlbumContents.Twin, modified: Int64?
  ) -> String? {
    // A pattern would replace the original's name as well.
    if !twin.hasName, options.template == nil {
      return "the album has its content as \(twin.place.name?.text ?? twin.place.text), so it stays"
    }
    if PlainCopy.hasDetails(of: original, twin.path, modified: modified) { return nil }
    return "the album has it with another time, other permissions or other attributes, so it stays"
  }
}
