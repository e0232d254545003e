import AlbumModel
import HTTPTypes
import Hummingbird
import PhotoDuplicates
import Posix

// Photos that the space has more than once.

extension GalleryRoutes {
  func addDuplicates(to router: Router<Context>) {
    router.post("/api/duplicates") { request, _ in
      let session = try sessions.session(request)
      return try await files.run {
        try session.duplicates.start(in: session.space)
        return duplicates(session)
      }
    }
    router.get("/api/duplicates") { request, _ in
      let session = try sessions.session(request)
      return await files.runPlain { duplicates(session) }
    }
  }

  private func duplicates(_ session: Session) -> Response {
    let progress = session.duplicates.progress
    var text = JSONText()
    text.object { text in
      let phase = progress.map { $0.isRunning ? "running" : "done" } ?? "none"
      text.field("state", phase)
      text.field("done", Int64(progress?.done ?? 0))
      text.field("total", Int64(progress?.total ?? 0))
      text.field("unhashed", Int64(progress?.unhashed ?? 0))
      text.field("sets", each: (progress?.sets ?? []).compactMap { shown($0, session) }) {
        text, set in
        text.object { text in
          text.field("photos", each: set) { write($1, session, to: &$0) }
        }
      }
    }
    return text.response()
  }

  private struct Shown {
    var member: DuplicateSet.Member
    var photo: SpaceIndex.Photo
    var isSurplus: Bool
  }

  /// The photos of a set that are still what they were; nil if none of them is there twice any more.
  private func shown(_ set: DuplicateSet, _ session: Session) -> [Shown]? {
    let index = session.space.index
    let found = set.members.compactMap { member in
      index.photo(member.unit.leader.inode).map { (member: member, photo: $0) }
    }.filter { $0.photo.row.size == $0.member.unit.leader.size }
    if found.count < 2 { return nil }
    // Beside another one than was meant to stay, none is safe to remove.
    let there = Set(found.map(\.photo.row.inode))
    return found.map { member, photo in
      let isSurplus = member.twin.map { there.contains($0) } ?? false
      return Shown(member: member, photo: photo, isSurplus: isSurplus)
    }
  }

  private func write(_ shown: Shown, _ session: Session, to text: inout JSONText) {
    let (member, photo) = (shown.member, shown.photo)
    let (row, content) = (photo.row, photo.album.found.content)
    text.object { text in
      text.field("id", session.id(row.inode))
      text.field("name", row.name.text)
      text.field("path", each: photo.album.found.path) { $0.value($1.text) }
      text.field("kind", row.kind.name)
      text.field("size", member.unit.files.reduce(0) { $0 + $1.size })
      let dimensions = member.unit.facts.dimensions
      text.field("width", dimensions.map { Int64($0.width) } ?? 0)
      text.field("height", dimensions.map { Int64($0.height) } ?? 0)
      text.field("taken", row.details.taken)
      let place = content.place(of: row.inode)
      text.field("thumb", place.map { PhotoListing.thumb(content, $0) } ?? -1)
      text.field("same", member.relation.rawValue)
      text.field("surplus", shown.isSurplus)
      text.field("ids", each: member.unit.files) { $0.value(session.id($1.inode)) }
    }
  }
}
