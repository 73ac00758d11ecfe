#include <widthwise/train/communicator.hpp>

#include <algorithm>
#include <exception>
#include <string>

#include <widthwise/error.hpp>

#include "base/message.hpp"

namespace widthwise {

std::vector<std::vector<std::byte>> gather(const Communicator& communicator, std::span<const std::byte> own) {
  std::vector<double> lengths(communicator.workers(), 0.0);
  lengths[communicator.rank()] = static_cast<double>(own.size());
  communicator.sum(lengths);
  std::vector<std::vector<std::byte>> all(communicator.workers());
  for (std::size_t worker = 0; worker < all.size(); ++worker) {
    all[worker].resize(static_cast<std::size_t>(lengths[worker]));
    if (worker == communicator.rank()) std::copy(own.begin(), own.end(), all[worker].begin());
    if (!all[worker].empty()) communicator.broadcast(all[worker], worker);
  }
  return all;
}

std::vector<std::string> gather_texts(const Communicator& communicator, std::string_view own) {
  std::vector<std::string> texts;
  for (const auto& bytes : gather(communicator, std::as_bytes(std::span(own)))) {
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return texts;
}

void all_or_none(const Communicator& communicator, const std::function<void()>& work) {
  std::exception_ptr failure;
  std::string report;  // a byte for the code, then the message
  try {
    work();
  } catch (const Error& error) {
    failure = std::current_exception();
    report = static_cast<char>(error.code()) + std::string(error.what());
  } catch (const std::exception& error) {
    failure = std::current_exception();
    report = static_cast<char>(ErrorCode::kLostWorker) + std::string(error.what());
  }
  const std::vector<std::string> reports = gather_texts(communicator, report);
  if (failure) std::rethrow_exception(failure);
  for (std::size_t worker = 0; worker < reports.size(); ++worker) {
    const std::string& text = reports[worker];
    if (text.empty()) continue;
    throw Error(static_cast<ErrorCode>(text.front()), fmt::format("worker {}: {}", worker, text.substr(1)));
  }
}

}  // namespace widthwise
