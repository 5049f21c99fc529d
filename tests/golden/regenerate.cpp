// Writes the golden files into the directory given.

#include "tests/golden/cases.hpp"

#include <fstream>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: golden_writer DIRECTORY\n";
    return 2;
  }
  for (auto& file : corral::test::golden_files()) {
    auto path = std::string{argv[1]} + "/" + file.name + ".jsonl";
    std::ofstream out{path, std::ios::binary};
    for (auto& x : file.cases)
      out << corral::test::golden_line(x, file.requests) << '\n';
    if (!out.flush()) {
      std::cerr << "cannot write " << path << '\n';
      return 1;
    }
  }
}
