// How far a path or a query needs no change: the inner loops of the fast path, 16 bytes at a time.
#include "url/scan.h"

#include "url/char_sets.h"

#if defined(__SSE2__)
#include <emmintrin.h>

#include <bit>
#endif

namespace escalona::url_internal {
namespace {

constexpr ByteSet kPathStop = kPathSet.With("\\");
constexpr ByteSet kPlainHostSet = kAlpha.WithRange('0', '9').With("-._");
constexpr ByteSet kDotEnd = ByteSet().With("./\\?#%");

// Whether the segment after the slash at `slash` may be a dot segment: ".", "..", or with %2e.
bool MayBeginDotSegment(const std::string& text, size_t slash) {
  const char* next = text.data() + slash + 1;  // ends in '\0', which stops every comparison below
  if (*next == '.') return next[1] == '\0' || kDotEnd.Has(next[1]);
  return *next == '%' && next[1] == '2' && (next[2] | 0x20) == 'e';
}

}  // namespace

size_t ScanPlainPathBytewise(const std::string& text, size_t begin) {
  size_t i = begin;
  for (; i < text.size() && !kPathStop.Has(text[i]); ++i) {
    if (text[i] == '/' && MayBeginDotSegment(text, i)) break;
  }
  return i;
}

size_t ScanPlainQueryBytewise(const std::string& text, size_t begin) {
  size_t i = begin;
  while (i < text.size() && !kSpecialQuerySet.Has(text[i])) ++i;
  return i;
}

size_t LowerPlainHostBytewise(std::string& text, size_t begin) {
  size_t i = begin;
  for (; i < text.size() && kPlainHostSet.Has(text[i]); ++i) text[i] = ToLowerAscii(text[i]);
  return i;
}

#if defined(__SSE2__)

namespace {

__m128i Load(const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
__m128i Is(__m128i bytes, char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); }
__m128i Or(__m128i a, __m128i b) { return _mm_or_si128(a, b); }
// Whether a byte is `c` or `c` without the bits of `either`, which `c` has.
__m128i IsEither(__m128i bytes, char c, char either) {
  return Is(Or(bytes, _mm_set1_epi8(either)), c);
}

// Bytes both sets have: up to space, above '~', '"', '#', '<', '>'.
__m128i CommonStop(__m128i bytes) {
  const __m128i low_or_high =
      _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x21));  // signed: also 0x80..0xff
  return Or(Or(low_or_high, Is(bytes, 0x7f)), Or(IsEither(bytes, '#', 1), IsEither(bytes, '>', 2)));
}

struct Query {
  static unsigned Stop(const char* p) {
    const __m128i bytes = Load(p);
    return static_cast<unsigned>(_mm_movemask_epi8(Or(CommonStop(bytes), Is(bytes, '\''))));
  }
  static bool Confirm(const std::string&, size_t) { return true; }
};

struct Path {
  // Also marks each slash before a '.' or '%'. Reads 17 bytes; the last may be the final '\0'.
  static unsigned Stop(const char* p) {
    const __m128i bytes = Load(p);
    const __m128i next = Load(p + 1);
    const __m128i dots = _mm_and_si128(Is(bytes, '/'), Or(Is(next, '.'), Is(next, '%')));
    const __m128i others = Or(Or(Is(bytes, '?'), IsEither(bytes, '^', 2)),
                              Or(Is(bytes, '`'), Or(Is(bytes, '{'), Is(bytes, '}'))));
    return static_cast<unsigned>(_mm_movemask_epi8(Or(Or(CommonStop(bytes), dots), others)));
  }
  static bool Confirm(const std::string& text, size_t i) {
    return text[i] != '/' || MayBeginDotSegment(text, i);
  }
};

unsigned Mask(__m128i bytes) { return static_cast<unsigned>(_mm_movemask_epi8(bytes)); }

// Whether a byte is between `low` and `high`: less `low` it is at most their difference.
__m128i IsBetween(__m128i bytes, char low, char high) {
  const __m128i offset = _mm_sub_epi8(bytes, _mm_set1_epi8(low));
  return _mm_cmpeq_epi8(_mm_min_epu8(offset, _mm_set1_epi8(static_cast<char>(high - low))), offset);
}

// The text has 16 bytes or more. The last block overlaps the one before it.
template <typename Part>
size_t Scan(const std::string& text, size_t begin) {
  const size_t size = text.size();
  for (size_t i = begin; i < size;) {
    const size_t block = i + 16 <= size ? i : size - 16;
    unsigned stop = Part::Stop(text.data() + block);
    stop &= ~0u << (i - block);
    for (; stop != 0; stop &= stop - 1) {
      const size_t found = block + static_cast<size_t>(std::countr_zero(stop));
      if (Part::Confirm(text, found)) return found;
    }
    i = block + 16;
  }
  return size;
}

}  // namespace

size_t LowerPlainHost(std::string& text, size_t begin) {
  size_t i = begin;
  for (; i + 16 <= text.size(); i += 16) {
    const __m128i bytes = Load(text.data() + i);
    const __m128i upper = IsBetween(bytes, 'A', 'Z');
    const __m128i letters = Or(upper, IsBetween(bytes, 'a', 'z'));
    const __m128i marks = Or(IsBetween(bytes, '-', '.'), Is(bytes, '_'));
    const __m128i plain = Or(Or(letters, marks), IsBetween(bytes, '0', '9'));
    const unsigned stop = ~Mask(plain) & 0xffff;
    const unsigned before_stop = stop == 0 ? 0xffff : (stop & -stop) - 1;
    for (unsigned left = Mask(upper) & before_stop; left != 0; left &= left - 1) {
      text[i + static_cast<size_t>(std::countr_zero(left))] |= 0x20;
    }
    if (stop != 0) return i + static_cast<size_t>(std::countr_zero(stop));
  }
  return LowerPlainHostBytewise(text, i);
}

size_t ScanPlainPath(const std::string& text, size_t begin) {
  return text.size() < 16 ? ScanPlainPathBytewise(text, begin) : Scan<Path>(text, begin);
}

size_t ScanPlainQuery(const std::string& text, size_t begin) {
  return text.size() < 16 ? ScanPlainQueryBytewise(text, begin) : Scan<Query>(text, begin);
}

#else

size_t LowerPlainHost(std::string& text, size_t begin) {
  return LowerPlainHostBytewise(text, begin);
}

size_t ScanPlainPath(const std::string& text, size_t begin) {
  return ScanPlainPathBytewise(text, begin);
}

size_t ScanPlainQuery(const std::string& text, size_t begin) {
  return ScanPlainQueryBytewise(text, begin);
}

#endif

}  // namespace escalona::url_internal
