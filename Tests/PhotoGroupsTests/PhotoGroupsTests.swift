import AlbumModel
import PhotoGroups
import Testing

/// What belongs to a photo is one group with it, whatever the camera, the program or Google named it.
@Suite struct PhotoGroupsTests {
  private func file(_ name: String) -> FileName { FileName(known: Array(name.utf8)) }

  /// The groups by their names, each with its leader first.
  private func groups(
    _ names: String..., identifiers: [String: String] = [:]
  ) -> [[String]] {
    PhotoGrouping.groups(of: names.map(file)) { identifiers[names[$0]] }
      .map { $0.members.map { names[$0.place] } }
  }

  @Test(
    "One group",
    arguments: [
      ["IMG_1.JPG", "IMG_1.xmp"], ["IMG_1.JPG", "IMG_1.JPG.xmp"], ["IMG_1.HEIC", "IMG_1.AAE"],
      ["IMG_1.JPG", "IMG_1.json"], ["IMG_1.jpg", "IMG_1.jpg.json"], ["MVI_1.AVI", "MVI_1.THM"],
      ["IMG_1.HEIC", "IMG_1.MOV"], ["IMG_1.HEIC", "IMG_1.mp4", "IMG_1.HEIC.xmp"],
      ["DSC_1.NEF", "DSC_1.JPG", "DSC_1.xmp"], ["DSC_1.CR3", "DSC_1.HIF"],
      ["IMG_1.jpg", "IMG_1-edited.jpg", "IMG_1.jpg.json"], ["IMG_1.jpg", "IMG_1-bearbeitet.jpg"],
      ["IMG_1234.HEIC", "IMG_1234.MOV", "IMG_E1234.HEIC", "IMG_E1234.MOV", "IMG_O1234.AAE"],
      ["IMG_1(1).jpg", "IMG_1.jpg(1).json"], ["IMG_1(1).jpg", "IMG_1-edited(1).jpg"],
      ["IMG_1 (2).jpg", "IMG_1 (2)-edited.jpg", "IMG_1 (2).jpg.xmp"],
      ["IMG_1.jpg", "IMG_1.jpg.supplemental-metadata.json"],
      ["IMG_1.jpg", "IMG_1.jpg.supplemental-me.json"], ["IMG_1.jpg", "IMG_1.jpg.s.json"],
      ["IMG_1(1).jpg", "IMG_1.jpg.supplemental-metadata(1).json"],
      [
        "8E3A1B0C-55D2-4C1F-9A77-0123456789AB.heic", "8E3A1B0C-55D2-4C1F-9A77-0123456789AB_3.mov",
        "8E3A1B0C-55D2-4C1F-9A77-0123456789AB.aae",
      ],
      [
        "8E3A1B0C-55D2-4C1F-9A77-0123456789AB_4.dng", "8E3A1B0C-55D2-4C1F-9A77-0123456789AB.jpeg",
      ],
      ["GX010001.MP4", "GX010001.LRV", "GX010001.THM"], ["DJI_1.MP4", "DJI_1.SRT"],
      [
        "Ein sehr langer Name eines Bildes aus dem Garten.jpg",
        "Ein sehr langer Name eines Bildes aus dem Gart.json",
      ],
      [
        "Ein sehr langer Name eines Bildes aus dem Garten.HEIC",
        "Ein sehr langer Name eines Bildes aus dem Garten.MP4",
        "Ein sehr langer Name eines Bildes aus dem Gart.json",
      ],
    ])
  func oneGroup(names: [String]) {
    // In any order of the folder.
    for order in [names, names.reversed(), names.sorted()] {
      let found = PhotoGrouping.groups(of: order.map(file)).map {
        $0.members.map { order[$0.place] }
      }
      #expect(found.count == 1 && found.first?.first == names[0], "\(found)")
      #expect(Set(found.joined()) == Set(names))
    }
  }

  @Test(
    "Groups of their own",
    arguments: [
      ["IMG_1.JPG", "IMG_2.xmp"], ["IMG_1.HEIC", "IMG_1.JPG"], ["IMG_1-edited.jpg", "IMG_2.jpg"],
      ["IMG_1.jpg", "IMG_1(1).jpg"], ["IMG_1.jpg", "IMG_1.jpg(1).json"], ["a.jpg", "a.txt"],
      ["IMG_1.JPG", "img_1.xmp"], ["metadata.json", "IMG_1.jpg"],
      ["IMG_E1234.JPG", "IMG_E1234x.MOV"],
      ["A.MP4", "A.MOV"], ["IMG_1.xmp", "IMG_1.AAE"],
      ["Ein sehr langer Name eines Bildes aus dem Garten.jpg", "Ein sehr lang.json"],
      [
        "Ein sehr langer Name eines Bildes aus dem Garten.jpg",
        "Ein sehr langer Name eines Bildes aus dem Gartenhaus.jpg",
        "Ein sehr langer Name eines Bildes aus dem Gart.json",
      ],
    ])
  func apart(names: [String]) {
    let found = PhotoGrouping.groups(of: names.map(file))
    #expect(found.map(\.members.count) == names.map { _ in 1 })
  }

  @Test func groupsOfSeveralFilesAreFoundInAnyNumberOfFiles() {
    // More than are looked at together, with files that are alone among them.
    let names = (0..<2000).flatMap { number -> [String] in
      let live = ["IMG_\(number).HEIC", "IMG_\(number).MOV"]
      return number % 3 == 0
        ? live : ["IMG_\(number).JPG", "DSC_\(number).NEF", "DSC_\(number).JPG"]
    }
    for names in [names, names + ["DSC_1.xmp", "IMG_1.JPG.xmp"]] {
      let files = names.map(file)
      let all = PhotoGrouping.groups(of: files).filter { $0.members.count > 1 }
      let several = PhotoGrouping.several(of: files)
      func named(_ groups: [PhotoGroup]) -> Set<[String]> {
        Set(groups.map { $0.members.map { names[$0.place] } })
      }
      #expect(named(several) == named(all) && several.count == all.count && all.count >= 2000)
    }
    let pair = [file("A.HEIC"), file("A.MOV"), file("B.JPG")]
    #expect(PhotoGrouping.several(of: pair) { ["1", "2", nil][$0] }.isEmpty)
    #expect(PhotoGrouping.several(of: pair) { ["1", "1", nil][$0] }.count == 1)
  }

  @Test func whatAGroupIsIsToldByItsMembers() {
    func only(_ names: String...) -> PhotoGroup { PhotoGrouping.groups(of: names.map(file))[0] }
    let live = only("IMG_1.HEIC", "IMG_1.MOV", "IMG_1.xmp")
    #expect(live.isLive && !live.isRawAndPicture && !live.isEdited)
    #expect(live.members.map(\.part) == [.picture, .film, .sidecar])
    let raw = only("DSC_1.NEF", "DSC_1.JPG")
    #expect(
      raw.isRawAndPicture && !raw.isLive && raw.members.map(\.part) == [.rawPicture, .picture])
    let edited = only("IMG_1.jpg", "IMG_1-edited.jpg")
    #expect(edited.isEdited && !edited.isLive && edited.members.map(\.part) == [.picture, .edited])
    #expect(only("IMG_1-edited.jpg").members[0].part == .picture && !only("A.MOV").isLive)
    #expect(!only("MVI_1.AVI", "MVI_1.THM").isLive)
  }

  @Test func applesIdentifiersDecideWhereBothHaveOne() {
    let same = ["IMG_1.HEIC": "A", "IMG_1.MOV": "A"]
    #expect(groups("IMG_1.HEIC", "IMG_1.MOV", identifiers: same).count == 1)
    // Two phones count alike.
    let other = ["IMG_1.HEIC": "A", "IMG_1.MOV": "B"]
    #expect(groups("IMG_1.HEIC", "IMG_1.MOV", identifiers: other).count == 2)
    #expect(groups("IMG_1.HEIC", "IMG_1.MOV", identifiers: ["IMG_1.MOV": "B"]).count == 1)
    // Of two photos of that name, it is the film of the one that says so.
    let found = groups(
      "IMG_1.HEIC", "IMG_1.JPG", "IMG_1.MOV", identifiers: ["IMG_1.JPG": "B", "IMG_1.MOV": "B"])
    #expect(found == [["IMG_1.HEIC"], ["IMG_1.JPG", "IMG_1.MOV"]])
  }

  @Test func everyFileIsInOneGroup() {
    let endings = ["jpg", "HEIC", "MOV", "xmp", "jpg.xmp", "NEF", "json", "jpg.json", "txt", "AAE"]
    var random = SystemRandomNumberGenerator()
    for _ in 0..<300 {
      let names = Set(
        (0..<20).map { _ in
          "IMG_\(["", "E", "O"].randomElement()!)100\(Int.random(in: 0...3, using: &random))"
            + ["", "-edited", "(1)", " (2)"].randomElement()! + "." + endings.randomElement()!
        }
      ).sorted()
      let found = PhotoGrouping.groups(of: names.map(file)).flatMap { $0.members.map(\.place) }
      #expect(found.sorted() == Array(names.indices), "\(names)")
    }
  }

  /// Names of any bytes, of any length, in any number.
  @Test func anyNamesAreGrouped() {
    var random = SystemRandomNumberGenerator()
    let pieces = [
      "IMG_E1234", "IMG_O12", "(1)", " (22)", "(", ")", "-edited", ".", ".jpg", ".json", "ä", "-",
      ".supplemental-metadata",
    ]
    for _ in 0..<400 {
      let names = (0..<12).compactMap { _ -> FileName? in
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 1...6, using: &random) {
          bytes += pieces.randomElement(using: &random)!.utf8
          if Bool.random(using: &random) { bytes.append(UInt8.random(in: 0...255, using: &random)) }
        }
        return try? FileName(bytes)
      }
      let groups = PhotoGrouping.groups(of: names)
      #expect(groups.flatMap { $0.members.map(\.place) }.sorted() == Array(names.indices))
      for member in groups.flatMap(\.members) {
        let name = member.name.numbered(7)
        #expect(1...FileName.maximumLength ~= name.bytes.count)
        #expect(1...FileName.maximumLength ~= member.name.following(file("a.b")).bytes.count)
      }
    }
  }

  // MARK: Names

  @Test func allNamesOfAGroupGetOneNumberAndStayAGroup() {
    let names = [
      "IMG_1234.HEIC", "IMG_1234.MOV", "IMG_E1234.HEIC", "IMG_O1234.AAE", "IMG_1234.HEIC.xmp",
      "IMG_1234-edited.jpg", "IMG_1234.HEIC.supplemental-meta.json",
    ]
    let group = PhotoGrouping.groups(of: names.map(file))[0]
    let numbered = group.members.map { $0.name.numbered(2) }
    #expect(
      Set(numbered.map(\.display)) == [
        "IMG_1234 (2).HEIC", "IMG_1234 (2).MOV", "IMG_E1234 (2).HEIC", "IMG_O1234 (2).AAE",
        "IMG_1234 (2).HEIC.xmp", "IMG_1234-edited (2).jpg", "IMG_1234 (2).HEIC.json",
      ])
    #expect(PhotoGrouping.groups(of: numbered).count == 1)
    for (member, name) in zip(group.members, numbered) {
      #expect(member.name.number(of: name) == 2)
      #expect(member.name.number(of: member.name.name) == 1)
      #expect(member.name.number(of: file("IMG_1235.HEIC")) == nil)
    }
  }

  @Test func whatBelongsToAPhotoOfAnotherNameFollowsIt() {
    let names = ["IMG_1.jpg", "IMG_1.MOV", "IMG_1.xmp", "IMG_1.jpg.json", "IMG_1-edited.jpg"]
    let group = PhotoGrouping.groups(of: names.map(file))[0]
    let following = group.members.dropFirst().map { $0.name.following(file("holiday.jpg")).display }
    #expect(
      following == ["holiday.MOV", "holiday-edited.jpg", "holiday.xmp", "holiday.jpg.json"])
  }

  @Test func longNamesStayNames() {
    let long = String(repeating: "ä", count: 120)
    let names = ["\(long).jpg", "\(long).jpg.xmp", "\(long).MOV"]
    let group = PhotoGrouping.groups(of: names.map(file))[0]
    for member in group.members {
      let name = member.name.numbered(123)
      #expect(name.bytes.count <= FileName.maximumLength && member.name.number(of: name) == 123)
    }
  }
}
