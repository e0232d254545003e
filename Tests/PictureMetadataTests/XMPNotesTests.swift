import AlbumModel
import PictureMetadata
import Testing

/// The sidecars of digiKam, darktable and Lightroom say rating, tags and caption of a photo.
@Suite struct XMPNotesTests {
  private func notes(_ description: String) -> XMPNotes? {
    let packet = """
      <?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
      \(description)
      </rdf:RDF></x:xmpmeta>
      """
    return XMPNotes(Array(packet.utf8))
  }

  @Test func digiKams() throws {
    let found = try #require(
      notes(
        """
        <rdf:Description rdf:about="" xmp:Rating="4" exif:DateTimeOriginal="2019-05-05T12:13:14"
          digiKam:PickLabel="0">
         <digiKam:TagsList><rdf:Seq><rdf:li>Places/Rome</rdf:li><rdf:li>Anna</rdf:li></rdf:Seq></digiKam:TagsList>
         <dc:subject><rdf:Bag><rdf:li>Rome</rdf:li><rdf:li>Anna</rdf:li><rdf:li>Rome</rdf:li></rdf:Bag></dc:subject>
         <dc:description><rdf:Alt><rdf:li xml:lang="x-default">Tom &amp; &quot;Anna&quot;
        at the &#x1F3D6; &lt;3</rdf:li></rdf:Alt></dc:description>
        </rdf:Description>
        """))
    #expect(found.rating == 4 && found.tags == ["Rome", "Anna"])
    #expect(found.caption == "Tom & \"Anna\"\nat the \u{1F3D6} <3")
    #expect(found.date?.text == "2019-05-05T12:13:14")
  }

  @Test func darktables() throws {
    let found = try #require(
      notes(
        """
        <rdf:Description xmp:Rating="-1" exif:DateTimeOriginal="2019:05:05 12:13:14" darktable:xmp_version="4">
         <lr:hierarchicalSubject><rdf:Seq><rdf:li>Places|Italy|Rome</rdf:li></rdf:Seq></lr:hierarchicalSubject>
         <darktable:history><rdf:Seq><rdf:li darktable:num="0" darktable:enabled="1"/></rdf:Seq></darktable:history>
        </rdf:Description>
        """))
    #expect(found.rating == -1 && found.tags == ["Rome"] && found.caption == nil)
  }

  @Test func lightrooms() throws {
    let found = try #require(
      notes(
        """
        <rdf:Description><xmp:Rating>5</xmp:Rating><dc:subject><rdf:Bag><rdf:li/><rdf:li> a b </rdf:li></rdf:Bag></dc:subject>
        <dc:description><rdf:Alt><rdf:li xml:lang="x-default"/></rdf:Alt></dc:description></rdf:Description>
        """))
    #expect(found.rating == 5 && found.tags == ["a b"] && found.caption == nil)
  }

  @Test func whatSaysNothingIsNothing() {
    #expect(
      notes("<rdf:Description xmp:Rating=\"0\"/>").map { $0.rating == nil && $0.tags == [] } == true
    )
    #expect(notes("<rdf:Description xmp:Rating=\"99\"/>")?.rating == nil)
    for text in ["", "<plist/>", "xmp:Rating=\"5\""] { #expect(XMPNotes(Array(text.utf8)) == nil) }
  }

  @Test func hostilePacketsEnd() {
    let many = String(repeating: "<rdf:li>x</rdf:li><rdf:li", count: 60_000)
    #expect(notes("<dc:subject>\(many)</dc:subject>")?.tags.count ?? 2 <= 1000)
    #expect(
      notes("<dc:subject><rdf:li>&#99999999; &; &unknown; &</rdf:li></dc:subject>")?.tags == [
        "&#99999999; &; &unknown; &"
      ])
    #expect(notes("<dc:description><rdf:li>never ends")?.caption == nil)
  }
}
