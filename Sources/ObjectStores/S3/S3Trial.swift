internal import AlbumSecrets
internal import Posix

// Tries what a server does. Each trial has an object of its own, with a name and contents that nothing else
// has. So a request that arrives late, or twice, disturbs no other trial, and shows in this one: then it is
// made again.

extension S3Store {
  private static let probe = "albumfs.probe-"
  private static let trials = 4

  package func probe() throws(ObjectError) -> ObjectStoreProperties {
    try probe(triesContent: true)
  }

  /// The same but for `checksContent`, which is false.
  package func probeConditions() throws(ObjectError) -> ObjectStoreProperties {
    try probe(triesContent: false)
  }

  private func probe(triesContent: Bool) throws(ObjectError) -> ObjectStoreProperties {
    for _ in 0..<S3Store.trials {
      let mark = String(UInt64.random(in: .min ... .max), radix: 16)
      let name = "\(S3Store.probe)\(mark)"
      do throws(ObjectError) {
        if let properties = try probe(name, triesContent) { return properties }
        try remove(name)
      } catch {
        try? remove(name)
        throw error
      }
    }
    throw .failed("each request arrives twice")
  }

  /// Returns nil if a request arrived again behind the removal.
  private func probe(
    _ name: String, _ triesContent: Bool
  ) throws(ObjectError) -> ObjectStoreProperties? {
    let (winners, version) = try race(name)
    let content: [UInt8] = Array("\(name) second".utf8)
    let replaces = try holds(name, content, .same(version))
    let kinds: [Look] = triesContent ? [.old, .listed, .content] : [.old, .listed]
    let looks = Result { () throws(ObjectError) in
      try inLanes(kinds.count, kinds) { [self] kind throws(ObjectError) in
        try look(kind, name, content, version)
      }
    }
    try remove(name)
    let isGone = try !hasObjects(name)
    if !isGone, try stat(name) != nil { return nil }
    let seen = Dictionary(uniqueKeysWithValues: zip(kinds, try looks.get()))
    return ObjectStoreProperties(
      createsIfAbsent: winners == 1, replacesIfSame: replaces && seen[.old] == false,
      listsAtOnce: seen[.listed] == true && isGone, checksContent: seen[.content] == false)
  }

  /// True if it succeeds.
  private func look(
    _ kind: Look, _ name: String, _ content: [UInt8], _ version: ObjectVersion
  ) throws(ObjectError) -> Bool {
    switch kind {
    case .old: try accepts(name, content + [1], .same(version))
    case .listed: try hasObjects(name)
    case .content: try accepts(name, content, .any, digest: SHA256.hash(content + [2]))
    }
  }

  /// Lets four save at once. Returns how many succeed, and what is there then.
  private func race(_ name: String) throws(ObjectError) -> (winners: Int, ObjectVersion) {
    let contents: [[UInt8]] = (1...4).map { Array("\(name) \($0)".utf8) }
    let won = try inLanes(contents.count, contents) { [self] content throws(ObjectError) in
      try accepted(name, content, .absent)
    }.compactMap { $0 }
    if let only = won.first, won.count == 1 { return (1, only) }
    guard let found = try load(name, nil, unless: nil) else { throw .failed("no content") }
    // The reply to the winner's request was that to its second arrival.
    let isOwn = won.isEmpty && contents.contains(found.bytes)
    return (isOwn ? 1 : won.count, found.version)
  }

  /// True if the store accepts a save. If the request arrived twice, the reply may be the second one, which
  /// says that the object has changed: by the first one.
  private func holds(
    _ name: String, _ content: [UInt8], _ condition: SaveCondition
  ) throws(ObjectError) -> Bool {
    if try accepts(name, content, condition) { return true }
    return try version(ofEqual: content, name) != nil
  }

  private func accepts(
    _ name: String, _ content: [UInt8], _ condition: SaveCondition, digest: [UInt8]? = nil
  ) throws(ObjectError) -> Bool {
    try accepted(name, content, condition, digest: digest) != nil
  }

  /// The result of a save; nil if the store refuses because of the condition or the digest.
  private func accepted(
    _ name: String, _ content: [UInt8], _ condition: SaveCondition, digest: [UInt8]? = nil
  ) throws(ObjectError) -> ObjectVersion? {
    do throws(ObjectError) {
      return try save(
        name, content, condition, digest: digest ?? SHA256.hash(content), isTrial: true)
    } catch {
      switch error {
      case .exists, .changed, .absent, .damaged, .refused(.other): return nil
      default: throw error
      }
    }
  }
}

/// What is tried at once.
private enum Look: Sendable {
  /// A save in the place of what is not there any more.
  case old
  /// A listing.
  case listed
  /// A save of something else than the digest says.
  case content
}
