import AlbumModel
import ControlProtocol
import Glibc
import PhotoGroups
import Posix

// How a group of files gets into an album: all of it under names that belong together, and nothing twice.

extension Importer {
  /// A file of a group whose content can be read at `content`: at its own path, or unpacked in the space.
  private struct Ready {
    let item: TransferGroup.Item
    let isLeader: Bool
    let content: PlainPath
    let isUnpacked: Bool
    let size: Int64
    /// The file of the album that has its content, whatever the names of the group are.
    var twin: AlbumContents.Twin?
    /// What its copy gets besides its content.
    var additions = ImportDates.Additions()
  }

  /// How the names of a group are made.
  private enum Naming {
    case numbered(Int)
    /// The leader has another name: the album has it already, or the user wants names by a pattern.
    case following(FileName)

    func name(of file: Ready) -> FileName {
      switch self {
      case .numbered(let number): file.item.name.numbered(number)
      case .following(let leader): file.isLeader ? leader : file.item.name.following(leader)
      }
    }
  }

  mutating func take(_ group: TransferGroup) throws(Failure) {
    let album: PlainPath
    do throws(PlainCopy.Fault) { album = try self.album(of: group) } catch {
      for file in group.files { try judge(error, of: file) }
      return
    }
    // Nobody else holds it: a change of what two hold would copy all names of the album.
    var known = contents.removeValue(forKey: album) ?? open(album)
    let first = waiting.count
    // Until all are placed: an interruption must not tear a group apart.
    var missing = group.files.last?.path
    defer {
      contents[album] = known
      for place in first..<waiting.count {
        (waiting[place].missing, waiting[place].follows) = (missing, place > first)
      }
    }
    missing = try place(group, &known)
  }

  /// Returns a file that could not be placed; nil if there is none.
  private mutating func place(
    _ group: TransferGroup, _ known: inout AlbumContents
  ) throws(Failure) -> PlainPath? {
    var missing: PlainPath?
    var ready: [Ready] = []
    defer { for file in ready where file.isUnpacked { try? PathCalls.removeFile(file.content) } }
    for (place, item) in group.items.enumerated() {
      do throws(PlainCopy.Fault) {
        var file = try prepare(item, place, &known)
        file.additions = dates.additions(to: item.file, of: group)
        ready.append(file)
      } catch {
        missing = item.file.path
        try judge(error, of: item.file)
      }
    }
    if ready.isEmpty { return missing }
    let naming: Naming
    let values = options.template == nil ? nil : dates.values(of: group)
    do throws(PlainCopy.Fault) { naming = try self.naming(of: ready, values, &known) } catch {
      for file in ready { try judge(error, of: file.item.file) }
      return ready[0].item.file.path
    }
    for file in ready {
      do throws(PlainCopy.Fault) { try put(file, naming, &known) } catch {
        missing = file.item.file.path
        try judge(error, of: file.item.file)
      }
    }
    return missing
  }

  /// Unpacks a file of a zip file, and looks whether the album has its content.
  private mutating func prepare(
    _ item: TransferGroup.Item, _ place: Int, _ known: inout AlbumContents
  ) throws(PlainCopy.Fault) -> Ready {
    let file = item.file
    let follows = place > 0
    guard let (zip, member) = file.member else {
      let twin = try known.twin(
        of: file.path, name: item.name, size: file.entry.size, follows: follows, watch: watch)
      return Ready(
        item: item, isLeader: !follows, content: file.path, isUnpacked: false,
        size: file.entry.size, twin: twin)
    }
    if options.isDryRun {
      let twin = known.likelyTwin(of: member, name: item.name, follows: follows)
      return Ready(
        item: item, isLeader: !follows, content: file.path, isUnpacked: false, size: member.size,
        twin: twin)
    }
    let partial = PartialFile.path(in: known.photo, process: getpid(), place: place)
    try member.unpack(from: zip, to: partial) { meter.advance($0) }
    do throws(PlainCopy.Fault) {
      let twin = try known.twin(
        of: partial, name: item.name, size: member.size, follows: follows, watch: watch)
      return Ready(
        item: item, isLeader: !follows, content: partial, isUnpacked: true, size: member.size,
        twin: twin)
    } catch {
      try? PathCalls.removeFile(partial)
      throw error
    }
  }

  /// Compares files without progress, until the user wants to stop.
  private var watch: (Int64) -> Bool {
    let isStopped = surroundings.isStopped
    return { _ in !isStopped() }
  }

  // MARK: Names

  /// The leader decides if the album has it; else another member that is there under a name of its own; else
  /// the first number that is free for all.
  private func naming(
    of group: [Ready], _ values: NameTemplate.Values?, _ known: inout AlbumContents
  ) throws(PlainCopy.Fault) -> Naming {
    if group[0].isLeader, let twin = group[0].twin {
      if let number = twin.number { return .numbered(number) }
      return twin.place.name.map { .following($0) } ?? .numbered(1)
    }
    let template = values == nil ? nil : options.template
    for number in template == nil ? group.compactMap({ $0.twin?.number }) : [] {
      if try isFree(.numbered(number), for: group, &known) { return .numbered(number) }
    }
    var number = 1
    while true {
      var naming = Naming.numbered(number)
      if let template, let values {
        naming = .following(
          template.name(of: group[0].item.file.name, values, number: number))
      }
      if try isFree(naming, for: group, &known) { return naming }
      number += 1
    }
  }

  private func isFree(
    _ naming: Naming, for group: [Ready], _ known: inout AlbumContents
  ) throws(PlainCopy.Fault) -> Bool {
    for file in group where file.twin == nil {
      let name = naming.name(of: file)
      // A dry run cannot read what is in a zip file.
      let isReadable = file.item.file.member == nil || file.isUnpacked
      if file.isLeader || !isReadable {
        if known.isTaken(name) { return false }
      } else if try !known.isFree(name, for: file.content, size: file.size, watch: watch) {
        return false
      }
    }
    return true
  }

  // MARK: Copying

  private mutating func put(
    _ file: Ready, _ naming: Naming, _ known: inout AlbumContents
  ) throws(PlainCopy.Fault) {
    let found = file.twin == nil ? try twin(of: file, naming, &known) : file.twin
    if let twin = found {
      return arrived(
        Arrival(
          file: file.item.file, copy: twin.place, twin: twin, modified: file.additions.modified), 0)
    }
    let wanted = naming.name(of: file)
    if options.isDryRun { return plan(file, as: wanted, &known) }
    var copied = file.item.file
    var content = file.content
    if !file.isUnpacked {
      content = PartialFile.path(in: known.photo, process: getpid())
      let entry = try PlainCopy.make(content, from: file.item.file.path) { meter.advance($0) }
      copied = SourceWalk.File(
        path: copied.path, name: copied.name, folders: copied.folders, entry: entry)
    }
    let name: FileName
    do throws(Errno) {
      try add(file.additions, to: content)
      name = try publish(content, as: wanted, &known)
    } catch {
      try? PathCalls.removeFile(content)
      throw .target(error)
    }
    let copy = known.photo.appending(name)
    known.add(copy, as: name, size: copied.entry.size)
    arrived(
      Arrival(file: copied, copy: copy, newName: name == copied.name ? nil : name),
      copied.entry.size)
  }

  /// Sets what a sidecar says of a file, unless the original brought it along.
  private func add(_ additions: ImportDates.Additions, to copy: PlainPath) throws(Errno) {
    var values = additions.notes.map { ($0.key.attribute, $0.value) }
    if let taken = additions.taken { values.append(("user.albumfs.taken", taken.text)) }
    for (name, value) in values where ExtendedAttribute.value(name, of: copy) == nil {
      try ExtendedAttribute.set(name, to: Array(value.utf8), of: copy)
    }
    if let modified = additions.modified {
      try PlainFiles.setTime(Timestamp(seconds: modified), of: copy)
    }
  }

  /// The file of the album that a follower equals: that of its name, or where the leader has another name,
  /// any of its own names.
  private func twin(
    of file: Ready, _ naming: Naming, _ known: inout AlbumContents
  ) throws(PlainCopy.Fault) -> AlbumContents.Twin? {
    let name = file.item.name
    if file.item.file.member != nil, !file.isUnpacked { return nil }
    let named = try known.twin(
      named: naming.name(of: file), of: file.content, name: name, size: file.size, watch: watch)
    guard named == nil, case .following = naming else { return named }
    return try known.twin(of: file.content, name: name, size: file.size, watch: watch)
  }

  private mutating func plan(
    _ file: Ready, as wanted: FileName, _ known: inout AlbumContents
  ) {
    let original = file.item.file
    let name = freeName(wanted, &known)
    let copy = known.photo.appending(name)
    known.add(
      original.path, as: name, size: file.size, checksum: original.member?.member.checksum)
    report.plan?.append(PlannedCopy(original.path, copy))
    arrived(
      Arrival(file: original, copy: copy, newName: name == original.name ? nil : name), 0)
  }

  /// Gives a file that is in the space its name, unless the album has its content already.
  mutating func settle(
    _ file: SourceWalk.File, content: PlainPath, size: Int64, in album: PlainPath
  ) throws(PlainCopy.Fault) {
    var known = contents.removeValue(forKey: album) ?? open(album)
    defer { contents[album] = known }
    let item = TransferGroup(file).items[0]
    let twin = try known.twin(of: content, name: item.name, size: size, watch: watch)
    let ready = Ready(
      item: item, isLeader: true, content: content, isUnpacked: true, size: size, twin: twin)
    try put(ready, try naming(of: [ready], nil, &known), &known)
    if twin != nil { try? PathCalls.removeFile(content) }
  }

  /// Gives a complete copy its name, or the next one that is free.
  private func publish(
    _ partial: PlainPath, as name: FileName, _ known: inout AlbumContents
  ) throws(Errno) -> FileName {
    while true {
      let free = freeName(name, &known)
      do throws(Errno) {
        try PlainFiles.rename(partial, to: known.photo.appending(free))
        return free
      } catch {
        // Another program was faster. The name counts as taken by now.
        if error != .exists { throw error }
      }
    }
  }

  private func freeName(_ name: FileName, _ known: inout AlbumContents) -> FileName {
    var number = 1
    while known.isTaken(NumberedName.of(name, number)) { number += 1 }
    let free = NumberedName.of(name, number)
    known.take(free)
    return free
  }
}
