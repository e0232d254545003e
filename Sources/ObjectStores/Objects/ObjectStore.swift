// The seam between albumfs and whatever keeps whole objects by their names: an object storage, or a
// directory. A store in there is its files, under the names that they have in a directory: `keys`,
// `segments/3f/3f9a…`. One suite of tests (`ObjectStoreTests`) runs over all implementations. Calls block,
// and any thread may make them.

/// One state of an object. The same text again means the same content.
package struct ObjectVersion: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  /// True if both name one state. Servers write an ETag with and without quotes, and what packs content on
  /// the way marks it as weak.
  func names(theSameAs other: ObjectVersion) -> Bool { plain == other.plain }

  private var plain: String {
    let text = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
    return text.filter { $0 != "\"" }
  }
}

/// What must hold for an object to be saved.
package enum SaveCondition: Equatable, Sendable {
  case any
  /// There is no object of that name.
  case absent
  /// The object is still in this state.
  case same(ObjectVersion)
}

/// What a store says of an object without its content.
package struct ObjectFacts: Equatable, Sendable {
  package var size: Int64
  package var version: ObjectVersion
  /// SHA-256 of the content that was saved; nil if the store does not know it.
  package var digest: [UInt8]?

  package init(size: Int64, version: ObjectVersion, digest: [UInt8]?) {
    self.size = size
    self.version = version
    self.digest = digest
  }
}

/// The content of an object, or a part of it.
package struct LoadedObject: Equatable, Sendable {
  package var bytes: [UInt8]
  package var version: ObjectVersion

  package init(bytes: [UInt8], version: ObjectVersion) {
    self.bytes = bytes
    self.version = version
  }
}

package struct ListedObject: Equatable, Sendable {
  package var name: String
  package var size: Int64
  package var version: ObjectVersion

  package init(name: String, size: Int64, version: ObjectVersion) {
    self.name = name
    self.size = size
    self.version = version
  }
}

extension ListedObject {
  fileprivate static let attempts = 4

  /// True if a content can be that of this object. A store may name no versions.
  func has(_ content: LoadedObject, _ range: Range<Int64>?) -> Bool {
    let whole = 0..<size
    if content.bytes.count != (range ?? whole).clamped(to: whole).count { return false }
    if version.text.isEmpty || content.version.text.isEmpty { return true }
    return content.version.names(theSameAs: version)
  }
}

/// A part of a listing.
package struct ObjectPage: Equatable, Sendable {
  /// In the order of the bytes of their names. None does not mean that the next part has none.
  package var objects: [ListedObject]
  /// What the store calls the next part; nil at the end.
  package var next: String?

  /// The most objects of one page.
  package static let limit = 1000

  package init(objects: [ListedObject], next: String? = nil) {
    self.objects = objects
    self.next = next
  }
}

/// What a store does, as a trial showed.
package struct ObjectStoreProperties: Equatable, Sendable {
  /// Of several who save with `absent` at once, one succeeds.
  package var createsIfAbsent: Bool
  /// A save with `same` fails if the object has changed.
  package var replacesIfSame: Bool
  /// A listing shows what was saved or removed before it.
  package var listsAtOnce: Bool
  /// Content whose SHA-256 is not the stated one is refused.
  package var checksContent: Bool

  package init(
    createsIfAbsent: Bool, replacesIfSame: Bool, listsAtOnce: Bool, checksContent: Bool
  ) {
    self.createsIfAbsent = createsIfAbsent
    self.replacesIfSame = replacesIfSame
    self.listsAtOnce = listsAtOnce
    self.checksContent = checksContent
  }
}

package protocol ObjectStore: AnyObject, Sendable {
  /// What a person calls this store.
  var place: String { get }

  /// Saves an object as a whole: others see the former content or this one. Throws `.exists`, `.changed` or
  /// `.absent` if the condition does not hold. After another error, the object may have been saved.
  @discardableResult
  func save(
    _ name: String, _ bytes: [UInt8], _ condition: SaveCondition
  ) throws(ObjectError) -> ObjectVersion

  /// Returns the content, or the part of it that lies in a range. Returns nil if the object is still in the
  /// state `known`. Throws `.absent` if there is none.
  func load(
    _ name: String, _ range: Range<Int64>?, unless known: ObjectVersion?
  ) throws(ObjectError) -> LoadedObject?

  /// nil if there is no such object.
  func stat(_ name: String) throws(ObjectError) -> ObjectFacts?

  /// The objects whose names begin with `prefix`, at most `ObjectPage.limit`: the first part, or that which
  /// an earlier one has as its next.
  func list(_ prefix: String, part: String?) throws(ObjectError) -> ObjectPage

  /// Removes an object, if it is there.
  func remove(_ name: String) throws(ObjectError)

  /// Returns when everything that was saved and removed before the call survives a power cut.
  func settle() throws(ObjectError)

  /// Tries what the store does, with objects of its own, which it removes.
  func probe() throws(ObjectError) -> ObjectStoreProperties
}

extension ObjectStore {
  /// The whole content. Throws `.absent` if there is no such object.
  package func load(_ name: String) throws(ObjectError) -> [UInt8] {
    guard let loaded = try load(name, nil, unless: nil) else { throw .failed("no content") }
    return loaded.bytes
  }

  /// Loads an object, or a part of it, that was listed. What comes may be the reply to another request, or
  /// the object was saved again since. So another version than the listed one counts only if a further look
  /// shows that one, or if the store says the same twice. A missing object is looked for twice.
  package func load(
    _ listed: ListedObject, _ range: Range<Int64>?
  ) throws(ObjectError) -> LoadedObject {
    var (known, wasAbsent) = (listed, false)
    var former: LoadedObject?
    for _ in 0..<ListedObject.attempts {
      let found: LoadedObject?
      do throws(ObjectError) { found = try load(listed.name, range, unless: nil) } catch {
        if error != .absent || wasAbsent { throw error }
        wasAbsent = true
        continue
      }
      guard let found else { throw .failed("no content") }
      if known.has(found, range) || found == former { return found }
      former = found
      guard let facts = try stat(listed.name) else { continue }
      (known.size, known.version) = (facts.size, facts.version)
      if known.has(found, range) { return found }
    }
    throw .damaged
  }

  /// All objects whose names begin with `prefix`, or the first of them, until `isEnough`.
  package func listAll(
    _ prefix: String, until isEnough: ([ListedObject]) -> Bool = { _ in false }
  ) throws(ObjectError) -> [ListedObject] {
    var all: [ListedObject] = []
    var part: String?
    while true {
      let page = try list(prefix, part: part)
      all += page.objects
      guard let next = page.next, !isEnough(all) else { return all }
      if next == part { throw .failed("a listing without an end") }
      part = next
    }
  }

  /// True if there is an object whose name begins with `prefix`.
  package func hasObjects(_ prefix: String) throws(ObjectError) -> Bool {
    try !listAll(prefix) { !$0.isEmpty }.isEmpty
  }
}
