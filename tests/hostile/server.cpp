// Runs commands of the program `widthwise` in sequence, each in a forked process. The libraries are loaded only once,
// so that hundreds of commands take seconds.
//
// Each line of stdin is a JSON object: "arguments", the "folder" to run in, the files "out" and "err" for what is
// printed. The answer is a line with the exit code, or minus the signal that ended the process.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engines.hpp"
#include "program.hpp"

namespace {

constexpr unsigned kSeconds = 120;
constexpr int kNotStarted = 99;

void redirect(const std::string& file, int descriptor) {
  const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (opened < 0 || dup2(opened, descriptor) < 0) _exit(kNotStarted);
}

[[noreturn]] void run_command(const nlohmann::json& command) {
  alarm(kSeconds);
  if (chdir(command.at("folder").get<std::string>().c_str()) != 0) _exit(kNotStarted);
  redirect(command.at("out"), STDOUT_FILENO);
  redirect(command.at("err"), STDERR_FILENO);
  std::vector<std::string> words = command.at("arguments");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const int code = widthwise::cli::run_program(static_cast<int>(arguments.size()), arguments.data());
  // Skip the destructors of the libraries, which take longer than most commands.
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace

int main() {
  widthwise::cli::register_engines();
  for (std::string line; std::getline(std::cin, line);) {
    const pid_t child = fork();
    if (child == 0) run_command(nlohmann::json::parse(line));
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return EXIT_FAILURE;
    std::cout << (WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status)) << std::endl;
  }
  return EXIT_SUCCESS;
}
