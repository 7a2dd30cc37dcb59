// Bit patterns that every device and compiler must give: argument(s), then result. They are part of the library's
// contract; the accuracy of each is checked in math_test.cpp. Any NaN matches a NaN.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tally/core/math.h>

namespace tally::math_cases {

template <class T>
struct UnaryCase {
  math::Bits<T> x, y;
};

template <class T>
struct BinaryCase {
  math::Bits<T> x, y, z;
};

template <math::Real T>
constexpr bool same(math::Bits<T> a, math::Bits<T> b) {
  return a == b || (math::isnan(math::bit_cast<T>(a)) && math::isnan(math::bit_cast<T>(b)));
}

// clang-format off
inline constexpr UnaryCase<float> kExpFloat[] = {
    {0x00000000, 0x3f800000}, {0x80000000, 0x3f800000}, {0x7f800000, 0x7f800000}, {0xff800000, 0x00000000},
    {0x7fc00000, 0x7fc00000}, {0x00000001, 0x3f800000}, {0x00800000, 0x3f800000}, {0x3f800000, 0x402df854},
    {0xbf800000, 0x3ebc5ab2}, {0x3dcccccd, 0x3f8d763e}, {0xbf333333, 0x3efe406e}, {0x3eb1719f, 0x3fb504c8},
    {0xbeb172ef, 0x3f3504a7}, {0x402df854, 0x417277da}, {0xc18a6666, 0x3303b967}, {0x425e3333, 0x678d3602},
    {0x42b17213, 0x7f7ffd84}, {0xc2aecccd, 0x00782140}, {0xc2c86666, 0x00000016}, {0xc2cfcccd, 0x00000001},
    {0x442f0666, 0x7f800000}, {0xc4390ccd, 0x00000000},
};
inline constexpr UnaryCase<double> kExpDouble[] = {
    {0x0000000000000000, 0x3ff0000000000000}, {0x8000000000000000, 0x3ff0000000000000},
    {0x7ff0000000000000, 0x7ff0000000000000}, {0xfff0000000000000, 0x0000000000000000},
    {0x7ff8000000000000, 0x7ff8000000000000}, {0x0000000000000001, 0x3ff0000000000000},
    {0x0010000000000000, 0x3ff0000000000000}, {0x3ff0000000000000, 0x4005bf0a8b14576a},
    {0xbff0000000000000, 0x3fd78b56362cef38}, {0x3fb999999999999a, 0x3ff1aec7b35a00d4},
    {0xbfe6666666666666, 0x3fdfc80db9dd5542}, {0x3fd62e33eff19503, 0x3ff6a099138a089c},
    {0xbfd62e5de15ca6ca, 0x3fe6a094e536e572}, {0x4005bf0a87427f01, 0x402e4efb676bb0e9},
    {0xc0314ccccccccccd, 0x3e60772c096d61b7}, {0x404bc66666666666, 0x44f1a6c132ce94a9},
    {0x40562e425aee6320, 0x47efffadfa7db737}, {0xc055d9999999999a, 0x380e0852f3ea8bbd},
    {0xc0590ccccccccccd, 0x36e5bc318fe6cf2c}, {0xc059f9999999999a, 0x36913220ab08c519},
    {0x4085e0cccccccccd, 0x7f1058614179b2a5}, {0xc08721999999999a, 0x0000000000000045},
};
inline constexpr UnaryCase<float> kExpm1Float[] = {
    {0x00000000, 0x00000000}, {0x80000000, 0x80000000}, {0x7f800000, 0x7f800000}, {0xff800000, 0xbf800000},
    {0x7fc00000, 0x7fc00000}, {0x00000001, 0x00000001}, {0x00800000, 0x00800000}, {0x3f800000, 0x3fdbf0a9},
    {0xbf800000, 0xbf21d2a7}, {0x3dcccccd, 0x3dd763da}, {0xbf333333, 0xbf00dfc9}, {0x3eb1719f, 0x3ed41322},
    {0xbeb172ef, 0xbe95f6b2}, {0x3089705f, 0x3089705f}, {0x402df854, 0x416277da}, {0xc0533333, 0xbf768ed3},
    {0x418a6666, 0x4bf8c31b}, {0xc18a6666, 0xbf800000}, {0xc2200000, 0xbf800000}, {0x422cd70a, 0x5ea1e34e},
    {0x42b16666, 0x7f7a37fc}, {0xb7a7c5ac, 0xb7a7c53e}, {0x442f0666, 0x7f800000},
};
inline constexpr UnaryCase<double> kExpm1Double[] = {
    {0x0000000000000000, 0x0000000000000000}, {0x8000000000000000, 0x8000000000000000},
    {0x7ff0000000000000, 0x7ff0000000000000}, {0xfff0000000000000, 0xbff0000000000000},
    {0x7ff8000000000000, 0x7ff8000000000000}, {0x0000000000000001, 0x0000000000000001},
    {0x0010000000000000, 0x0010000000000000}, {0x3ff0000000000000, 0x3ffb7e151628aed3},
    {0xbff0000000000000, 0xbfe43a54e4e98864}, {0x3fb999999999999a, 0x3fbaec7b35a00d3a},
    {0xbfe6666666666666, 0xbfe01bf92311555f}, {0x3fd62e33eff19503, 0x3fda82644e282272},
    {0xbfd62e5de15ca6ca, 0xbfd2bed63592351b}, {0x3e112e0be826d695, 0x3e112e0be84bbb51},
    {0x4005bf0a87427f01, 0x402c4efb676bb0e9}, {0xc00a666666666666, 0xbfeed1da6447a418},
    {0x40314ccccccccccd, 0x417f1864eb8932f7}, {0xc0314ccccccccccd, 0xbfefffffef88d3f7},
    {0xc044000000000000, 0xbff0000000000000}, {0x40459ae147ae147b, 0x43d43c6aef622cc2},
    {0x40562ccccccccccd, 0x47ef4705bbffae5c}, {0xbef4f8b588e368f1, 0xbef4f8a7ca797d3e},
    {0x4085e0cccccccccd, 0x7f1058614179b2a5},
};
inline constexpr UnaryCase<float> kLogFloat[] = {
    {0x00000000, 0xff800000}, {0x80000000, 0xff800000}, {0x7f800000, 0x7f800000}, {0xff800000, 0x7fc00000},
    {0x7fc00000, 0x7fc00000}, {0x00000001, 0xc2ce8ed0}, {0x00800000, 0xc2aeac50}, {0x3f800000, 0x00000000},
    {0xbf800000, 0x7fc00000}, {0x3dcccccd, 0xc0135d8e}, {0xbf333333, 0x7fc00000}, {0x3f3504f3, 0xbeb17218},
    {0x3f3504f3, 0xbeb17218}, {0x3fb504f3, 0x3eb17217}, {0x3fb504f4, 0x3eb1721a}, {0x3f7fbe77, 0xba8322ca},
    {0x3f8020c5, 0x3a83033b}, {0x40000000, 0x3f317218}, {0x40533333, 0x3f98d273}, {0x000ae398, 0xc2b39a05},
    {0x7149f2ca, 0x428a27b5}, {0x1fb776c5, 0xc2300177}, {0x7f800000, 0x7f800000},
};
inline constexpr UnaryCase<double> kLogDouble[] = {
    {0x0000000000000000, 0xfff0000000000000}, {0x8000000000000000, 0xfff0000000000000},
    {0x7ff0000000000000, 0x7ff0000000000000}, {0xfff0000000000000, 0x7ff8000000000000},
    {0x7ff8000000000000, 0x7ff8000000000000}, {0x0000000000000001, 0xc0874385446d71c3},
    {0x0010000000000000, 0xc086232bdd7abcd2}, {0x3ff0000000000000, 0x0000000000000000},
    {0xbff0000000000000, 0x7ff8000000000000}, {0x3fb999999999999a, 0xc0026bb1bbb55515},
    {0xbfe6666666666666, 0x7ff8000000000000}, {0x3fe6a09e65dc27df, 0xbfd62e4300c77ae8},
    {0x3fe6a09e6b3a8b97, 0xbfd62e42f1981e98}, {0x3ff6a09e55c0fcb5, 0x3fd62e42cf9ee3eb},
    {0x3ff6a09e7098ef50, 0x3fd62e431b8bb196}, {0x3feff7ced916872b, 0xbf5064670d979b73},
    {0x3ff004189374bc6a, 0x3f5060354f8c3cc4}, {0x4000000000000000, 0x3fe62e42fefa39ef},
    {0x400a666666666666, 0x3ff31a4e7240c777}, {0x37d5c72fb1552d83, 0xc05673409cc4ffb2},
    {0x46293e5939a08cea, 0x405144f69ff9ffc4}, {0x3bf6eed89435bbc2, 0xc046002ee9eead97},
    {0x7e37e43c8800759c, 0x4085963447f87fb5},
};
inline constexpr UnaryCase<float> kLog1pFloat[] = {
    {0x00000000, 0x00000000}, {0x80000000, 0x80000000}, {0x7f800000, 0x7f800000}, {0xff800000, 0x7fc00000},
    {0x7fc00000, 0x7fc00000}, {0x00000001, 0x00000001}, {0x00800000, 0x00800000}, {0x3f800000, 0x3f317218},
    {0xbf800000, 0xff800000}, {0x3dcccccd, 0x3dc331fc}, {0xbf333333, 0xbf9a1bc8}, {0xbe95f5ae, 0xbeb17180},
    {0x3ed41355, 0x3eb171c3}, {0x3ed414a5, 0x3eb172b1}, {0xbf7fff58, 0xc1382f62}, {0x3089705f, 0x3089705f},
    {0xb727c5ac, 0xb727c5e3}, {0x40000000, 0x3f8c9f54}, {0x42053333, 0x40623fd2}, {0x7149f2ca, 0x428a27b5},
    {0x58635fa9, 0x420a27b5}, {0xbf000000, 0xbf317218}, {0x7f800000, 0x7f800000},
};
inline constexpr UnaryCase<double> kLog1pDouble[] = {
    {0x0000000000000000, 0x0000000000000000}, {0x8000000000000000, 0x8000000000000000},
    {0x7ff0000000000000, 0x7ff0000000000000}, {0xfff0000000000000, 0x7ff8000000000000},
    {0x7ff8000000000000, 0x7ff8000000000000}, {0x0000000000000001, 0x0000000000000001},
    {0x0010000000000000, 0x0010000000000000}, {0x3ff0000000000000, 0x3fe62e42fefa39ef},
    {0xbff0000000000000, 0xfff0000000000000}, {0x3fb999999999999a, 0x3fb8663f793c46c7},
    {0xbfe6666666666666, 0xbff34378fcbda720}, {0xbfd2beb5b2d4d402, 0xbfd62e2fe73833b5},
    {0x3fda826aa8eb4635, 0x3fd62e386e3de810}, {0x3fda82949a5657fb, 0x3fd62e5616bc4029},
    {0xbfefffeb074a771d, 0xc027069e2aa2b45d}, {0x3e112e0be826d695, 0x3e112e0be801f1d9},
    {0xbee4f8b588e368f1, 0xbee4f8bc681e6006}, {0x4000000000000000, 0x3ff193ea7aad030b},
    {0x4040a66666666666, 0x400c47fa4996326d}, {0x46293e5939a08cea, 0x405144f69ff9ffc4},
    {0x430c6bf526340000, 0x404144f69ff9ffc4}, {0xbfe0000000000000, 0xbfe62e42fefa39ef},
    {0x7e37e43c8800759c, 0x4085963447f87fb5},
};
inline constexpr UnaryCase<float> kTanhFloat[] = {
    {0x00000000, 0x00000000}, {0x80000000, 0x80000000}, {0x7f800000, 0x3f800000}, {0xff800000, 0xbf800000},
    {0x7fc00000, 0x7fc00000}, {0x00000001, 0x00000001}, {0x00800000, 0x00800000}, {0x3f800000, 0x3f42f7d6},
    {0xbf800000, 0xbf42f7d6}, {0x3dcccccd, 0x3dcc1ebc}, {0xbf333333, 0xbf1ab7d9}, {0x3f1ffffe, 0x3f0dfa3e},
    {0x3f200000, 0x3f0dfa40}, {0x3f200002, 0x3f0dfa41}, {0xbf19999a, 0xbf097c15}, {0x38d1b717, 0x38d1b717},
    {0x3e99999a, 0x3e9526ee}, {0xc00ccccd, 0xbf79ca4d}, {0x40b00000, 0x3f7ffdd0}, {0xc111999a, 0xbf800000},
    {0xc1980000, 0xbf800000}, {0x41a00000, 0x3f800000},
};
inline constexpr UnaryCase<double> kTanhDouble[] = {
    {0x0000000000000000, 0x0000000000000000}, {0x8000000000000000, 0x8000000000000000},
    {0x7ff0000000000000, 0x3ff0000000000000}, {0xfff0000000000000, 0xbff0000000000000},
    {0x7ff8000000000000, 0x7ff8000000000000}, {0x0000000000000001, 0x0000000000000001},
    {0x0010000000000000, 0x0010000000000000}, {0x3ff0000000000000, 0x3fe85efab514f394},
    {0xbff0000000000000, 0xbfe85efab514f394}, {0x3fb999999999999a, 0x3fb983d7795f413a},
    {0xbfe6666666666666, 0xbfe356fb17af2e91}, {0x3fe3ffffca501acb, 0x3fe1bf47c58f0628},
    {0x3fe4000000000000, 0x3fe1bf47eabb8f96}, {0x3fe4000035afe535, 0x3fe1bf480fe818be},
    {0xbfe3333333333333, 0xbfe12f8292d2ccfc}, {0x3f1a36e2eb1c432d, 0x3f1a36e2e9a4f662},
    {0x3fd3333333333333, 0x3fd2a4dda7d914fa}, {0xc00199999999999a, 0xbfef3949a819042d},
    {0x4016000000000000, 0x3fefffb9f2fc1e91}, {0xc022333333333333, 0xbfeffffff29c7a5a},
    {0xc033000000000000, 0xbfefffffffffffff}, {0x4034000000000000, 0x3ff0000000000000},
};
inline constexpr UnaryCase<float> kSigmoidFloat[] = {
    {0x00000000, 0x3f000000}, {0x80000000, 0x3f000000}, {0x7f800000, 0x3f800000}, {0xff800000, 0x00000000},
    {0x7fc00000, 0x7fc00000}, {0x00000001, 0x3f000000}, {0x00800000, 0x3f000000}, {0x3f800000, 0x3f3b26a8},
    {0xbf800000, 0x3e89b2b0}, {0x3dcccccd, 0x3f066509}, {0xbf333333, 0x3ea9e34a}, {0x398d8ec9, 0x3f00046c},
    {0xbe99999a, 0x3ed9e2ab}, {0x40533333, 0x3f76e4ce}, {0xc09ccccd, 0x3bf234bd}, {0x4121999a, 0x3f7ffd4f},
    {0xc184cccd, 0x3384a13e}, {0xc2720000, 0x13d264e0}, {0xc2b1cccd, 0x001acdfa}, {0xc2cc3333, 0x00000003},
    {0x42200000, 0x3f800000}, {0xc4341333, 0x00000000},
};
inline constexpr UnaryCase<double> kSigmoidDouble[] = {
    {0x0000000000000000, 0x3fe0000000000000}, {0x8000000000000000, 0x3fe0000000000000},
    {0x7ff0000000000000, 0x3ff0000000000000}, {0xfff0000000000000, 0x0000000000000000},
    {0x7ff8000000000000, 0x7ff8000000000000}, {0x0000000000000001, 0x3fe0000000000000},
    {0x0010000000000000, 0x3fe0000000000000}, {0x3ff0000000000000, 0x3fe764d4f5d5a2bd},
    {0xbff0000000000000, 0x3fd136561454ba86}, {0x3fb999999999999a, 0x3fe0cca12729afb8},
    {0xbfe6666666666666, 0x3fd53c695abcd716}, {0x3f31b1d92b7fe08b, 0x3fe0008d8ec94d91},
    {0xbfd3333333333333, 0x3fdb3c5574372aeb}, {0x400a666666666666, 0x3feedc99cf2c9d4d},
    {0xc01399999999999a, 0x3f7e4697c57399e5}, {0x4024333333333333, 0x3fefffa9da7cd7f3},
    {0xc03099999999999a, 0x3e709428221df129}, {0xc04e400000000000, 0x3a7a4c9bf9a78412},
    {0xc05639999999999a, 0x37eacdfce68190e6}, {0xc059866666666666, 0x36ba01d47d0d0870},
    {0x4044000000000000, 0x3ff0000000000000}, {0xc086826666666666, 0x000000071844d2b6},
};
inline constexpr UnaryCase<float> kSoftplusFloat[] = {
    {0x00000000, 0x3f317218}, {0x80000000, 0x3f317218}, {0x7f800000, 0x7f800000}, {0xff800000, 0x00000000},
    {0x7fc00000, 0x7fc00000}, {0x00000001, 0x3f317218}, {0x00800000, 0x3f317218}, {0x3f800000, 0x3fa818f6},
    {0xbf800000, 0x3ea063d6}, {0x3dcccccd, 0x3f3e90c8}, {0xbf333333, 0x3ece6e67}, {0x398d8ec9, 0x3f317af1},
    {0xbe99999a, 0x3f0dea3a}, {0x40533333, 0x4055849e}, {0xc09ccccd, 0x3bf31b07}, {0x4121999a, 0x412199c5},
    {0xc184cccd, 0x3384a13e}, {0xc2720000, 0x13d264e0}, {0xc2b1cccd, 0x001acdfa}, {0xc2cc3333, 0x00000003},
    {0x42200000, 0x42200000}, {0xc4341333, 0x00000000},
};
inline constexpr UnaryCase<double> kSoftplusDouble[] = {
    {0x0000000000000000, 0x3fe62e42fefa39ef}, {0x8000000000000000, 0x3fe62e42fefa39ef},
    {0x7ff0000000000000, 0x7ff0000000000000}, {0xfff0000000000000, 0x0000000000000000},
    {0x7ff8000000000000, 0x7ff8000000000000}, {0x0000000000000001, 0x3fe62e42fefa39ef},
    {0x0010000000000000, 0x3fe62e42fefa39ef}, {0x3ff0000000000000, 0x3ff5031eafefb049},
    {0xbff0000000000000, 0x3fd40c7abfbec125}, {0x3fb999999999999a, 0x3fe7d218f1c8904f},
    {0xbfe6666666666666, 0x3fd9cdccdb8aa7eb}, {0x3f31b1d92b7fe08b, 0x3fe62f5e21715b84},
    {0xbfd3333333333333, 0x3fe1bd4735ab7816}, {0x400a666666666666, 0x400ab093b9091426},
    {0xc01399999999999a, 0x3f7e636113ce2159}, {0x4024333333333333, 0x402433389592a50f},
    {0xc03099999999999a, 0x3e7094282ab4c746}, {0xc04e400000000000, 0x3a7a4c9bf9a78412},
    {0xc05639999999999a, 0x37eacdfce68190e6}, {0xc059866666666666, 0x36ba01d47d0d0870},
    {0x4044000000000000, 0x4044000000000000}, {0xc086826666666666, 0x000000071844d2b6},
};
inline constexpr UnaryCase<float> kErfFloat[] = {
    {0x00000000, 0x00000000}, {0x80000000, 0x80000000}, {0x7f800000, 0x3f800000}, {0xff800000, 0xbf800000},
    {0x7fc00000, 0x7fc00000}, {0x00000001, 0x00000001}, {0x00800000, 0x00906eba}, {0x3f800000, 0x3f57bb3d},
    {0xbf800000, 0xbf57bb3d}, {0x3dcccccd, 0x3de652f5}, {0xbf333333, 0xbf2d8461}, {0x3f665fd9, 0x3f4bfee3},
    {0x3f666666, 0x3f4c022d}, {0x3f66670e, 0x3f4c0281}, {0xbee66666, 0xbef37257}, {0x38d1b717, 0x38eca365},
    {0x3fc00000, 0x3f7752ab}, {0xc0200000, 0xbf7fe555}, {0x40533333, 0x3f7fffcd}, {0xc079999a, 0xbf7fffff},
    {0x40900000, 0x3f800000}, {0x40b9999a, 0x3f800000},
};
inline constexpr UnaryCase<double> kErfDouble[] = {
    {0x0000000000000000, 0x0000000000000000}, {0x8000000000000000, 0x8000000000000000},
    {0x7ff0000000000000, 0x3ff0000000000000}, {0xfff0000000000000, 0xbff0000000000000},
    {0x7ff8000000000000, 0x7ff8000000000000}, {0x0000000000000001, 0x0000000000000001},
    {0x0010000000000000, 0x00120dd750429b6d}, {0x3ff0000000000000, 0x3feaf767a741088b},
    {0xbff0000000000000, 0xbfeaf767a741088b}, {0x3fb999999999999a, 0x3fbcca5ea24fb334},
    {0xbfe6666666666666, 0xbfe5b08c21171646}, {0x3feccbfb15b573eb, 0x3fe97fdc5f2028e9},
    {0x3feccccccccccccd, 0x3fe98045a6c8a2e6}, {0x3feccce1c58255b0, 0x3fe980502daec84d},
    {0xbfdccccccccccccd, 0xbfde6e4ae11529c0}, {0x3f1a36e2eb1c432d, 0x3f1d946ca4401e6e},
    {0x3ff8000000000000, 0x3feeea5557137ae0}, {0xc004000000000000, 0xbfeffcaa8f4c9bea},
    {0x400a666666666666, 0x3feffff9966790c8}, {0xc00f333333333333, 0xbfefffffed523095},
    {0x4012000000000000, 0x3fefffffffe4fa30}, {0x4017333333333333, 0x3feffffffffffffe},
};
inline constexpr UnaryCase<float> kSinFloat[] = {
    {0x00000000, 0x00000000}, {0x80000000, 0x80000000}, {0x7f800000, 0x7fc00000}, {0xff800000, 0x7fc00000},
    {0x7fc00000, 0x7fc00000}, {0x00000001, 0x00000001}, {0x00800000, 0x00800000}, {0x3f800000, 0x3f576aa4},
    {0xbf800000, 0xbf576aa4}, {0x3dcccccd, 0x3dcc7577}, {0xbf333333, 0xbf24eb73}, {0x3f48f5c3, 0x3f34f27f},
    {0x3f49374c, 0x3f3520d5}, {0x3fc90fda, 0x3f800000}, {0x40490fdb, 0xb3bbbd2e}, {0xc0800000, 0x3f41bdcf},
    {0x42c90000, 0xbcfd9fc2}, {0x47c35000, 0x3d126d55}, {0x497ffffe, 0x3e574a96}, {0x49800001, 0x3ee42388},
    {0x501502f9, 0xbef99a64}, {0x7c9071db, 0xbf652d0c}, {0x7f800000, 0x7fc00000},
};
inline constexpr UnaryCase<double> kSinDouble[] = {
    {0x0000000000000000, 0x0000000000000000}, {0x8000000000000000, 0x8000000000000000},
    {0x7ff0000000000000, 0x7ff8000000000000}, {0xfff0000000000000, 0x7ff8000000000000},
    {0x7ff8000000000000, 0x7ff8000000000000}, {0x0000000000000001, 0x0000000000000001},
    {0x0010000000000000, 0x0010000000000000}, {0x3ff0000000000000, 0x3feaed548f090cee},
    {0xbff0000000000000, 0xbfeaed548f090cee}, {0x3fb999999999999a, 0x3fb98eaecb8bcb2c},
    {0xbfe6666666666666, 0xbfe49d6e694619b8}, {0x3fe91eb851eb851f, 0x3fe69e4fd79ac743},
    {0x3fe926e978d4fdf4, 0x3fe6a41a99fd55b2}, {0x3ff921fb4d12d84a, 0x3feffffffffffffd},
    {0x400921fb53c8d4f1, 0x3e2ed609d1a62633}, {0xc010000000000000, 0x3fe837b9dddc1eae},
    {0x4059200000000000, 0xbf9fb3f833470ff1}, {0x40f86a0000000000, 0x3fa24daa9c527e96},
    {0x412fffffcccccccd, 0x3fce07fa13370afb}, {0x413000001999999a, 0x3fdb138205a09cc0},
    {0x4202a05f20000000, 0xbfdf334c7896a4e3}, {0x47920e3b5b9ad8aa, 0xbfe26b77e78c9668},
    {0x7e3cab7bd666f388, 0x3fe579a6795a15a1},
};
inline constexpr UnaryCase<float> kCosFloat[] = {
    {0x00000000, 0x3f800000}, {0x80000000, 0x3f800000}, {0x7f800000, 0x7fc00000}, {0xff800000, 0x7fc00000},
    {0x7fc00000, 0x7fc00000}, {0x00000001, 0x3f800000}, {0x00800000, 0x3f800000}, {0x3f800000, 0x3f0a5140},
    {0xbf800000, 0x3f0a5140}, {0x3dcccccd, 0x3f7eb898}, {0xbf333333, 0x3f43ccb3}, {0x3f48f5c3, 0x3f351765},
    {0x3f49374c, 0x3f34e90d}, {0x3fc90fda, 0x33a22169}, {0x40490fdb, 0xbf800000}, {0xc0800000, 0xbf275530},
    {0x42c90000, 0x3f7fe095}, {0x47c35000, 0xbf7fd61c}, {0x497ffffe, 0x3f7a472e}, {0x49800001, 0x3f652e79},
    {0x501502f9, 0x3f5f84c5}, {0x7c9071db, 0xbee42942}, {0x7f800000, 0x7fc00000},
};
inline constexpr UnaryCase<double> kCosDouble[] = {
    {0x0000000000000000, 0x3ff0000000000000}, {0x8000000000000000, 0x3ff0000000000000},
    {0x7ff0000000000000, 0x7ff8000000000000}, {0xfff0000000000000, 0x7ff8000000000000},
    {0x7ff8000000000000, 0x7ff8000000000000}, {0x0000000000000001, 0x3ff0000000000000},
    {0x0010000000000000, 0x3ff0000000000000}, {0x3ff0000000000000, 0x3fe14a280fb5068c},
    {0xbff0000000000000, 0x3fe14a280fb5068c}, {0x3fb999999999999a, 0x3fefd712f9a817c1},
    {0xbfe6666666666666, 0x3fe87996529f9d93}, {0x3fe91eb851eb851f, 0x3fe6a2ecb934b59a},
    {0x3fe926e978d4fdf4, 0x3fe69d21a9805fb3}, {0x3ff921fb4d12d84a, 0x3e5cc553391a6262},
    {0x400921fb53c8d4f1, 0xbff0000000000000}, {0xc010000000000000, 0xbfe4eaa606db24c1},
    {0x4059200000000000, 0x3feffc12adaecec2}, {0x40f86a0000000000, 0xbfeffac3841b3da7},
    {0x412fffffcccccccd, 0x3fef1b57557c0355}, {0x413000001999999a, 0x3fecfec36140f536},
    {0x4202a05f20000000, 0x3febf098901c931a}, {0x47920e3b5b9ad8aa, 0xbfea2abf6f52d766},
    {0x7e3cab7bd666f388, 0xbfe7b9472906882b},
};
inline constexpr UnaryCase<float> kRsqrtFloat[] = {
    {0x00000000, 0x7f800000}, {0x80000000, 0xff800000}, {0x7f800000, 0x00000000}, {0xff800000, 0x7fc00000},
    {0x7fc00000, 0x7fc00000}, {0x00000001, 0x64b504f3}, {0x00800000, 0x5f000000}, {0x3f800000, 0x3f800000},
    {0xbf800000, 0x7fc00000}, {0x3dcccccd, 0x404a62c2}, {0xbf333333, 0x7fc00000}, {0x40000000, 0x3f3504f3},
    {0x40400000, 0x3f13cd3a}, {0x3e800000, 0x40000000}, {0x0da24260, 0x58635fa9}, {0x7149f2ca, 0x26901d7d},
    {0x40f66666, 0x3eb88312}, {0x42f6cccd, 0x3db85cc6}, {0x00001be0, 0x618924ec}, {0x3e99999a, 0x3fe9b1e8},
    {0x48f42400, 0x3ab95d21}, {0x7f800000, 0x00000000},
};
inline constexpr UnaryCase<double> kRsqrtDouble[] = {
    {0x0000000000000000, 0x7ff0000000000000}, {0x8000000000000000, 0xfff0000000000000},
    {0x7ff0000000000000, 0x0000000000000000}, {0xfff0000000000000, 0x7ff8000000000000},
    {0x7ff8000000000000, 0x7ff8000000000000}, {0x0000000000000001, 0x6180000000000000},
    {0x0010000000000000, 0x5fe0000000000000}, {0x3ff0000000000000, 0x3ff0000000000000},
    {0xbff0000000000000, 0x7ff8000000000000}, {0x3fb999999999999a, 0x40094c583ada5b52},
    {0xbfe6666666666666, 0x7ff8000000000000}, {0x4000000000000000, 0x3fe6a09e667f3bcc},
    {0x4008000000000000, 0x3fe279a74590331d}, {0x3fd0000000000000, 0x4000000000000000},
    {0x39b4484bfeebc2a0, 0x430c6bf52633ffff}, {0x46293e5939a08cea, 0x3cd203af9ee75616},
    {0x401ecccccccccccd, 0x3fd710623dcd46ff}, {0x405ed9999999999a, 0x3fb70b98d925b55e},
    {0x376be03d0bf225c7, 0x4431248ab5beecf8}, {0x3fd3333333333333, 0x3ffd363d1848dcbf},
    {0x411e848000000000, 0x3f572ba43fff3717}, {0x7e37e43c8800759c, 0x20ca2fe76a3f9475},
};
inline constexpr BinaryCase<float> kPowFloat[] = {
    {0x00000000, 0xbf800000, 0x7f800000}, {0x80000000, 0xc0400000, 0xff800000}, {0x80000000, 0x40400000, 0x80000000},
    {0x7f800000, 0xbf000000, 0x00000000}, {0xff800000, 0x40400000, 0xff800000}, {0xbf800000, 0x7f800000, 0x3f800000},
    {0x3f000000, 0xff800000, 0x7f800000}, {0x7fc00000, 0x00000000, 0x3f800000}, {0x3f800000, 0x7fc00000, 0x3f800000},
    {0xc0000000, 0x3f000000, 0x7fc00000}, {0xc0000000, 0x40400000, 0xc1000000}, {0xc0000000, 0xc0000000, 0x3e800000},
    {0x40000000, 0x3f000000, 0x3fb504f3}, {0x40400000, 0x41a00000, 0x4f4fd41c}, {0x41200000, 0xc1200000, 0x2edbe6ff},
    {0x3f7d70a4, 0x449a5000, 0x36893723}, {0x3f800001, 0x4b189680, 0x4052d05e}, {0x000116c2, 0x3f666666, 0x03aa2407},
    {0x42f6e979, 0xc0fc7ae1, 0x24112766}, {0x3be56042, 0x41a5999a, 0x00000002}, {0x3fd9999a, 0x42708000, 0x56827d10},
    {0x7149f2ca, 0x7149f2ca, 0x7f800000}, {0x3e99999a, 0x41f26666, 0x25256a38}, {0x40000000, 0xc30c0000, 0x00000200},
};
inline constexpr BinaryCase<double> kPowDouble[] = {
    {0x0000000000000000, 0xbff0000000000000, 0x7ff0000000000000},
    {0x8000000000000000, 0xc008000000000000, 0xfff0000000000000},
    {0x8000000000000000, 0x4008000000000000, 0x8000000000000000},
    {0x7ff0000000000000, 0xbfe0000000000000, 0x0000000000000000},
    {0xfff0000000000000, 0x4008000000000000, 0xfff0000000000000},
    {0xbff0000000000000, 0x7ff0000000000000, 0x3ff0000000000000},
    {0x3fe0000000000000, 0xfff0000000000000, 0x7ff0000000000000},
    {0x7ff8000000000000, 0x0000000000000000, 0x3ff0000000000000},
    {0x3ff0000000000000, 0x7ff8000000000000, 0x3ff0000000000000},
    {0xc000000000000000, 0x3fe0000000000000, 0x7ff8000000000000},
    {0xc000000000000000, 0x4008000000000000, 0xc020000000000000},
    {0xc000000000000000, 0xc000000000000000, 0x3fd0000000000000},
    {0x4000000000000000, 0x3fe0000000000000, 0x3ff6a09e667f3bcc},
    {0x4008000000000000, 0x4034000000000000, 0x41e9fa8372200000},
    {0x4024000000000000, 0xc024000000000000, 0x3ddb7cdfd9d7bdbb},
    {0x3fefae147ae147ae, 0x40934a0000000000, 0x3ed126d702bc5fbe},
    {0x3ff000001ad7f29b, 0x416312d000000000, 0x4005bf0a790ce6f2},
    {0x37a16c262777579c, 0x3feccccccccccccd, 0x38754484932d2e66},
    {0x405edd2f1a9fbe77, 0xc01f8f5c28f5c28f, 0x3c8224ec1169f129},
    {0x3f7cac083126e979, 0x4034b33333333333, 0x36ac41abae6a7177},
    {0x3ffb333333333333, 0x404e100000000000, 0x42d04fa02368d270},
    {0x46293e5939a08cea, 0x46293e5939a08cea, 0x7ff0000000000000},
    {0x3fd3333333333333, 0x403e4ccccccccccd, 0x3ca4ad4426568886},
    {0x4000000000000000, 0xc061800000000000, 0x3730000000000000},
};
// clang-format on

// The functions as objects, so that a kernel can be made of each.
struct Exp {
  template <class T>
  TALLY_HD T operator()(T x) const {
    return math::exp(x);
  }
};
struct Expm1 {
  template <class T>
  TALLY_HD T operator()(T x) const {
    return math::expm1(x);
  }
};
struct Log {
  template <class T>
  TALLY_HD T operator()(T x) const {
    return math::log(x);
  }
};
struct Log1p {
  template <class T>
  TALLY_HD T operator()(T x) const {
    return math::log1p(x);
  }
};
struct Tanh {
  template <class T>
  TALLY_HD T operator()(T x) const {
    return math::tanh(x);
  }
};
struct Sigmoid {
  template <class T>
  TALLY_HD T operator()(T x) const {
    return math::sigmoid(x);
  }
};
struct Softplus {
  template <class T>
  TALLY_HD T operator()(T x) const {
    return math::softplus(x);
  }
};
struct Erf {
  template <class T>
  TALLY_HD T operator()(T x) const {
    return math::erf(x);
  }
};
struct Sin {
  template <class T>
  TALLY_HD T operator()(T x) const {
    return math::sin(x);
  }
};
struct Cos {
  template <class T>
  TALLY_HD T operator()(T x) const {
    return math::cos(x);
  }
};
struct Rsqrt {
  template <class T>
  TALLY_HD T operator()(T x) const {
    return math::rsqrt(x);
  }
};
struct Pow {
  template <class T>
  TALLY_HD T operator()(T x, T y) const {
    return math::pow(x, y);
  }
};

/// Calls visit(name, function, float cases, double cases) for each function of one argument.
template <class Visit>
void for_each_unary(Visit visit) {
  visit("exp", Exp{}, kExpFloat, kExpDouble);
  visit("expm1", Expm1{}, kExpm1Float, kExpm1Double);
  visit("log", Log{}, kLogFloat, kLogDouble);
  visit("log1p", Log1p{}, kLog1pFloat, kLog1pDouble);
  visit("tanh", Tanh{}, kTanhFloat, kTanhDouble);
  visit("sigmoid", Sigmoid{}, kSigmoidFloat, kSigmoidDouble);
  visit("softplus", Softplus{}, kSoftplusFloat, kSoftplusDouble);
  visit("erf", Erf{}, kErfFloat, kErfDouble);
  visit("sin", Sin{}, kSinFloat, kSinDouble);
  visit("cos", Cos{}, kCosFloat, kCosDouble);
  visit("rsqrt", Rsqrt{}, kRsqrtFloat, kRsqrtDouble);
}

/// A sweep that a few dozen cases cannot replace: kSweep arguments of all exponents and signs, half of them moderate.
inline constexpr int kSweep = 8192;

template <class T>
TALLY_HD constexpr T sweep(int i) {
  const std::uint64_t word = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15;
  if (i % 2 == 0) return math::bit_cast<T>(static_cast<math::Bits<T>>(word >> (64 - 8 * sizeof(T))));
  const T x = static_cast<T>(word >> 40) * T{0x1p-20};  // [0, 16) in steps of 2^-20
  return (word & 1) != 0 ? -x : x;
}

/// FNV-1a over the results' bits in order, NaN as one pattern.
template <class T>
constexpr std::uint64_t checksum(const T* results) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (int i = 0; i < kSweep; ++i) {
    const math::Bits<T> bits = math::to_bits(math::isnan(results[i]) ? math::nan<T>() : results[i]);
    for (std::size_t byte = 0; byte < sizeof(T); ++byte) sum = (sum ^ (bits >> (8 * byte) & 0xff)) * 0x100000001b3;
  }
  return sum;
}

/// Calls visit(name, function, float checksum, double checksum) for each function of one argument, over the sweep.
template <class Visit>
void for_each_checksum(Visit visit) {
  visit("exp", Exp{}, 0x9d68b178cb72a094, 0x4b3b52d24510a755);
  visit("expm1", Expm1{}, 0xedeca46e6c9a92b9, 0x90a19c5b9bf01664);
  visit("log", Log{}, 0x2ff8314630b2209a, 0x2c087a2bcfa3f8a9);
  visit("log1p", Log1p{}, 0xf87050f8b85f0589, 0xf7a9589fc8308c74);
  visit("tanh", Tanh{}, 0x18db074b6d351aa3, 0x0d39600f2c1c74b7);
  visit("sigmoid", Sigmoid{}, 0x5081c8ad251f7125, 0x5594f792b2251d9b);
  visit("softplus", Softplus{}, 0x4c724deb5830c028, 0xcf95b730117984f5);
  visit("erf", Erf{}, 0x9335b59a00688bef, 0x80763bfd737e73d7);
  visit("sin", Sin{}, 0x08ec552e3d3844f5, 0xc0bade3a2c528869);
  visit("cos", Cos{}, 0x299c30c434bb0d31, 0x16a1b49caed76f46);
  visit("rsqrt", Rsqrt{}, 0xdd158527e382a4e6, 0x4b5c55a08432d0e5);
}

}  // namespace tally::math_cases
