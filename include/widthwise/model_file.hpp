#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include <widthwise/model.hpp>

namespace widthwise {

/// The newest format. save writes the oldest one that holds the model: format 3 when it has sketches of its rows or a
/// training-conditional guarantee, else format 2 when it follows a stream, else format 1. load reads all of them.
inline constexpr int kModelFormat = 3;

/// The bytes of a model: a safetensors file, which any safetensors reader opens. Equal models give equal bytes.
[[nodiscard]] std::vector<std::byte> serialise(const Model& model);

/// Read them back. Nothing in the bytes is trusted: every index, shape, number and size is checked before it is used,
/// memory stays within a small multiple of the bytes given, and nothing is ever executed. Throws kBadData, saying what
/// is wrong.
[[nodiscard]] Model deserialise(std::span<const std::byte> bytes);

/// Write a model so that `file` is at every moment the old one or the new one, whole: a temporary file beside it,
/// flushed to the disk, then renamed. Throws kFile.
void save(const Model& model, const std::filesystem::path& file);

/// Throws kFile when the file cannot be read, kBadData when it is not a model; both begin with the file's name.
[[nodiscard]] Model load(const std::filesystem::path& file);

/// A number that tells apart models that give rows different scores: of the rule, the unit, the base model, the
/// localizer and the names of their columns, and of nothing else. Calibrating a model does not change it.
[[nodiscard]] std::uint64_t score_fingerprint(const Model& model);

}  // namespace widthwise
