// Waits; holds what it was told to by SIGUSR2, for captures of a running program.
class Order {}
const orders = [];
process.on('SIGUSR2', () => { for (let i = 0; i < 100; i++) orders.push(new Order()); });
setInterval(() => {}, 1000);
console.log('ready');
