// Finding characters 64 at a time.
#ifndef ESCALONA_BASE_BYTE_MASKS_H_
#define ESCALONA_BASE_BYTE_MASKS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace escalona {

// Up to 64 bytes of a text, asked "where is this character?". Bit i of an answer stands for byte i;
// bits past the end of the text are unspecified, see valid().
class ByteBlock {
 public:
  static constexpr size_t kSize = 64;

  // The block of `text` that starts at `from`, which is before its end. Keeps no reference to it.
  ByteBlock(std::string_view text, size_t from) {
    const size_t size = std::min(text.size() - from, kSize);
    if (size == kSize) {
      std::memcpy(bytes_, text.data() + from, kSize);
      valid_ = ~uint64_t{0};
    } else {
      std::memset(bytes_, 0, kSize);
      std::memcpy(bytes_, text.data() + from, size);
      valid_ = (uint64_t{1} << size) - 1;
    }
  }

  // The bits that stand for bytes of the text.
  uint64_t valid() const { return valid_; }

  uint64_t Equal(char c) const {
    uint64_t mask = 0;
#ifdef __SSE2__
    const __m128i wanted = _mm_set1_epi8(c);
    for (size_t i = 0; i < kSize; i += 16) {
      const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(bytes_ + i));
      const int equal = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted));
      mask |= uint64_t{static_cast<uint16_t>(equal)} << i;
    }
#else
    for (size_t i = 0; i < kSize; ++i) mask |= uint64_t{bytes_[i] == c} << i;
#endif
    return mask;
  }

  // The bytes between `low` and `high`, both included; both below 0x80.
  uint64_t InRange(char low, char high) const {
    uint64_t mask = 0;
#ifdef __SSE2__
    // A byte is in the range when subtracting `low` without wrapping leaves at most high - low.
    const __m128i from = _mm_set1_epi8(low);
    const __m128i width = _mm_set1_epi8(static_cast<char>(high - low));
    for (size_t i = 0; i < kSize; i += 16) {
      const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(bytes_ + i));
      const __m128i offset = _mm_sub_epi8(bytes, from);
      const __m128i inside = _mm_cmpeq_epi8(_mm_min_epu8(offset, width), offset);
      mask |= uint64_t{static_cast<uint16_t>(_mm_movemask_epi8(inside))} << i;
    }
#else
    for (size_t i = 0; i < kSize; ++i) {
      mask |= uint64_t{bytes_[i] >= low && bytes_[i] <= high} << i;
    }
#endif
    return mask;
  }

 private:
  alignas(16) char bytes_[kSize];
  uint64_t valid_;
};

}  // namespace escalona

#endif  // ESCALONA_BASE_BYTE_MASKS_H_
