// Decimal digits of the numbers that are usual in a plan by whole arithmetic, of others by the
// standard library.
#include "cli/decimal.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace escalona::cli {
namespace {

constexpr int kDigits = 12;
constexpr double kLeast = 1e-4;     // below, an exponent is written
constexpr double kGreatest = 1e11;  // from here on, rounding might ask for one
constexpr double kPowers[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,
                              1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

double PowerOfTen(int exponent) { return kPowers[exponent + 4]; }

constexpr auto kPairs = [] {
  std::array<char, 200> pairs{};
  for (size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

// The x with 10^x <= value < 10^(x + 1).
int DecimalExponent(double value) {
  const int binary = static_cast<int>(std::bit_cast<uint64_t>(value) >> 52) - 1023;
  const int exponent = (binary * 1233) >> 12;  // times log10(2): this one or the one before
  return exponent + (value >= PowerOfTen(exponent + 1) ? 1 : 0);
}

// value * scale, rounded to the nearest number, to the even one between two. The scale is a power
// of ten that a double holds exactly, and the product is below 2^52.
uint64_t RoundedProduct(double value, double scale) {
  const double product = value * scale;
  const double error = std::fma(value, scale, -product);
  const auto whole = static_cast<int64_t>(product);
  const double past_half = product - static_cast<double>(whole) - 0.5 + error;
  // Without a branch: nobody can foretell on which side of the half a number is.
  const int64_t up = int{past_half > 0} | (int{past_half == 0} & (whole % 2));
  return static_cast<uint64_t>(whole + up);
}

void PutSixDigits(char* at, uint32_t number) {
  for (int i = 4; i >= 0; i -= 2, number /= 100) {
    const size_t pair = number % 100;
    std::memcpy(at + i, &kPairs[2 * pair], 2);
  }
}

// Twelve digits, of which the first stands for 10^exponent.
char* PutFixed(char* at, uint64_t digits, int exponent) {
  char text[kDigits];
  PutSixDigits(text, static_cast<uint32_t>(digits / 1000000));
  PutSixDigits(text + 6, static_cast<uint32_t>(digits % 1000000));
  int size = kDigits;
  while (text[size - 1] == '0') --size;
  if (exponent < 0) {
    constexpr std::string_view kZeros = "0.0000";
    kZeros.copy(at, kZeros.size());
    at += 1 - exponent;
    std::memcpy(at, text, kDigits);
    return at + size;
  }
  const int whole = exponent + 1;
  std::memcpy(at, text, kDigits);
  if (size <= whole) return at + whole;
  at[whole] = '.';
  std::memcpy(at + whole + 1, text + whole, static_cast<size_t>(kDigits - whole));
  return at + size + 1;
}

}  // namespace

char* PutDecimal(char* at, double value) {
  if (!(value >= kLeast && value < kGreatest)) {
    return std::to_chars(at, at + kDecimalBytes, value, std::chars_format::general, kDigits).ptr;
  }
  int exponent = DecimalExponent(value);
  uint64_t digits = RoundedProduct(value, PowerOfTen(kDigits - 1 - exponent));
  if (digits == 1000000000000) {
    digits /= 10;
    ++exponent;
  }
  return PutFixed(at, digits, exponent);
}

}  // namespace escalona::cli
