import Hummingbird
import PhotoSearch
import Posix

// The towns near which photos were taken.

extension GalleryRoutes {
  func addPlaces(to router: Router<Context>) {
    router.get("/api/places") { request, _ in
      let session = try sessions.session(request)
      return await files.runPlain { places(session) }
    }
  }

  /// A town with the newest photo near it, which shows it.
  private struct Town {
    var photos: Int64 = 0
    var videos: Int64 = 0
    var newest = Int64.min
    var cover: (inode: UInt64, thumb: Int64) = (0, -1)
  }

  /// The towns with the most photos first.
  private func places(_ session: Session) -> Response {
    let hidden = session.space.index.hidden
    var towns: [UInt16: Town] = [:]
    for album in session.space.index.albums().albums {
      let content = album.found.content
      content.eachShown(without: hidden) { row in
        let number = content.town(row)
        if number > 0 { GalleryRoutes.count(row, of: content, in: &towns[number, default: Town()]) }
      }
    }
    let named = towns.compactMap { number, town in
      Places.table?.name(of: number).map { (number: number, name: $0, town: town) }
    }.sorted { ($1.town.photos, $0.name) < ($0.town.photos, $1.name) }
    var text = JSONText()
    text.object { text in
      text.field("places", each: named) { text, place in
        text.object { text in
          text.field("place", Int64(place.number))
          text.field("name", place.name)
          text.field("photos", place.town.photos)
          text.field("videos", place.town.videos)
          text.field("cover", session.id(place.town.cover.inode))
          text.field("coverThumb", place.town.cover.thumb)
        }
      }
    }
    return text.response()
  }

  private static func count(_ row: Int, of content: AlbumContent, in town: inout Town) {
    town.photos += 1
    if content.kinds[row] == .video { town.videos += 1 }
    let date = content.details[row].taken ?? content.modified[row]
    if date <= town.newest { return }
    town.newest = date
    town.cover = (content.inodes[row], PhotoListing.thumb(content, row))
  }
}
