/// What a person looks for, as words. All of them must be found, in any order.
///
/// A word stands for itself at the beginning of any word of a photo's texts, and also for a date, a month or
/// a kind if it names one. `"two words"` stand together and whole, `-word` must not be found, and `camera:word`
/// is looked for in one field. Words also name towns, at or near which a photo was taken.
package struct SearchQuery: Equatable, Sendable {
  private struct Term: Equatable, Sendable {
    /// One of them is enough.
    var choices: [Criterion]
    var isExcluded = false
  }

  private let terms: [Term]

  /// In bytes; what comes behind them is ignored.
  package static let limit = 500

  /// - Parameter towns: nil where places have no names.
  package init(_ text: String, towns: PlaceTable? = nil) {
    terms = SearchQuery.terms(
      SearchToken.split(String(decoding: text.utf8.prefix(SearchQuery.limit), as: UTF8.self)),
      towns)
  }

  /// True if it asks for nothing; then it finds nothing.
  package var isEmpty: Bool { terms.isEmpty }

  // MARK: Matching

  /// What a search knows of one photo.
  package struct Photo: ~Escapable {
    let text: Span<UInt8>
    let album: Span<UInt8>
    let clockSeconds: Int64
    let kinds: PhotoKinds
    let rating: Int8
    let place: UInt16

    /// - Parameters:
    ///   - text: the bytes of its `SearchText`.
    ///   - album: those of its album's names.
    ///   - clockSeconds: when it was taken, or else the time of its file.
    ///   - place: the number of the nearest town; 0 if it is at none.
    @_lifetime(copy text, copy album)
    package init(
      text: Span<UInt8>, album: Span<UInt8>, clockSeconds: Int64, kinds: PhotoKinds, rating: Int8,
      place: UInt16 = 0
    ) {
      (self.text, self.album) = (text, album)
      (self.clockSeconds, self.kinds, self.rating) = (clockSeconds, kinds, rating)
      self.place = place
    }
  }

  package func finds(_ photo: borrowing Photo) -> Bool {
    if terms.isEmpty { return false }
    for term in terms {
      var isFound = false
      for choice in term.choices where choice.isMet(photo) {
        isFound = true
        break
      }
      if isFound == term.isExcluded { return false }
    }
    return true
  }

  // MARK: Reading

  private static func terms(_ tokens: [SearchToken], _ towns: PlaceTable?) -> [Term] {
    var terms: [Term] = []
    var rest = tokens[...]
    while let token = rest.first {
      if let (date, text) = dayAndMonth(rest) {
        terms.append(Term(choices: [.date(date)] + Criterion.text(text)))
        rest = rest.dropFirst(2)
        continue
      }
      rest = rest.dropFirst()
      let choices = Criterion.choices(for: token, towns)
      // A field with a value that says nothing finds nothing.
      let isWrong = token.field != nil && !token.text.isEmpty
      if isWrong || !choices.isEmpty {
        terms.append(Term(choices: choices, isExcluded: token.isExcluded))
      }
    }
    return terms
  }

  /// `5 June`, `June 5`
  private static func dayAndMonth(_ tokens: ArraySlice<SearchToken>) -> (SearchDate, String)? {
    let two = tokens.prefix(2).filter(\.isPlain).map(\.text)
    guard two.count == 2 else { return nil }
    for (day, month) in [(two[0], two[1]), (two[1], two[0])] {
      if let day = SearchDate.dayOfMonth(day), let month = SearchDate.month(month) {
        return (.day(month: month, day: day), two.joined(separator: " "))
      }
    }
    return nil
  }
}

/// A word or a phrase of a query.
struct SearchToken: Equatable, Sendable {
  var field: String?
  var text = ""
  var isPhrase = false
  var isExcluded = false

  var isPlain: Bool { field == nil && !isPhrase && !isExcluded }

  private static let quotes: Set<Character> = ["\"", "“", "”", "„", "«", "»"]

  static func split(_ text: String) -> [SearchToken] {
    var tokens: [SearchToken] = []
    var rest = text[...]
    while true {
      rest = rest.drop(while: \.isWhitespace)
      guard let first = rest.first else { return tokens }
      var token = SearchToken()
      if first == "-", let next = rest.dropFirst().first, !next.isWhitespace {
        token.isExcluded = true
        rest = rest.dropFirst()
      }
      let word = rest.prefix { !$0.isWhitespace && !quotes.contains($0) }
      if let colon = word.firstIndex(of: ":"), colon > word.startIndex,
        Criterion.isField(String(word[..<colon]))
      {
        token.field = String(word[..<colon]).lowercased()
        rest = rest[word.index(after: colon)...]
      }
      if let quote = rest.first, quotes.contains(quote) {
        rest = rest.dropFirst()
        let phrase = rest.prefix { !quotes.contains($0) }
        token.text = String(phrase)
        token.isPhrase = true
        rest = rest[phrase.endIndex...].dropFirst()
      } else {
        let word = rest.prefix { !$0.isWhitespace && !quotes.contains($0) }
        token.text = String(word)
        rest = rest[word.endIndex...]
      }
      tokens.append(token)
    }
  }
}
