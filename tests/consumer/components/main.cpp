#include <iostream>

#include <widthwise/error.hpp>
#include <widthwise/io/table.hpp>
#include <widthwise/train/torch.hpp>
#include <widthwise/train/xgboost.hpp>

int main() {
  std::cout << widthwise::make_net_trainer()->engine() << '\n';
  std::cout << widthwise::make_tree_trainer(widthwise::XgboostLibrary::load())->engine() << '\n';
  try {
    static_cast<void>(widthwise::TableReader::open("nothing.parquet"));
  } catch (const widthwise::Error& error) {
    std::cout << error.what() << '\n';
    return 0;
  }
  return 1;
}
